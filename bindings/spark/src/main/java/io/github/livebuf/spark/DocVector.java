package io.github.livebuf.spark;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

import io.github.livebuf.Column;
import io.github.livebuf.Kind;
import io.github.livebuf.LivebufException;
import io.github.livebuf.Value;

/**
 * A column of a document as Spark reads it: over the document's bytes, of which a value is decoded when Spark asks for
 * it. What is damaged, or of another type than the schema says, is a DataException with the file, the row and the
 * column.
 */
final class DocVector extends ColumnVector {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS", Locale.ROOT);
    private static final double EXACT = 1L << 53; // all integers below it are doubles

    private static final Set<String> SCALARS = Set.of("boolean", "byte", "short", "integer", "long", "float", "double",
        "binary", "date", "timestamp", "timestamp_ntz");

    // How numbers lie in the document; NONE where each value is looked up.
    private static final int NONE = 0;
    private static final int I8 = 1;
    private static final int I16 = 2;
    private static final int I32 = 3;
    private static final int I64 = 4;
    private static final int U8 = 5;
    private static final int U16 = 6;
    private static final int U32 = 7;
    private static final int F32 = 8;
    private static final int F64 = 9;
    private static final int TEXTS_U8 = 10; // numbers of texts in a dictionary
    private static final int TEXTS_U16 = 11;

    /**
     * Where rows are, for errors.
     *
     * @param file its name
     * @param row the number in the file of the row that is row 0 of the vector
     * @param column its name
     */
    private record Place(String file, long row, String column) {
        String of(int i, boolean isElement) {
            return isElement ? file + ", row " + row + ", column " + column + ", element " + i
                : file + ", row " + (row + i) + ", column " + column;
        }
    }

    private final Place place;
    private final Value array;
    private final String[] path;
    private final Column column;
    private final int first;
    private final boolean isValid;
    private final boolean isElement; // whether rows of the vector are elements of an array in one row
    private final boolean hasAll;
    private final Kind wanted; // of what is read as an integer
    private final int stored;
    private final ByteBuffer slots; // null where stored is NONE
    private final Column dictionary; // null where stored is no number of a text
    private final UTF8String[] texts; // those of the dictionary that were made
    private final DocVector[] children;

    /** The column of a key of a block's rows; without a key, the rows themselves. */
    static DocVector of(Rows.Block block, String file, DataType type, String... path) {
        return new DocVector(block.array(), block.first(), block.isValid(), type,
            new Place(file, block.row(), String.join(".", path)), false, path);
    }

    private DocVector(Value array, int first, boolean isValid, DataType type, Place place, boolean isElement,
        String... path) {
        super(type);
        this.array = array;
        this.first = first;
        this.isValid = isValid;
        this.place = place;
        this.isElement = isElement;
        this.path = path;
        try {
            column = array.column(path);
            hasAll = column.hasAll();
            stored = stored(column.type(), type);
            slots = stored == NONE ? null : column.slots();
            dictionary = stored >= TEXTS_U8 ? column.dictionary() : null;
            texts = dictionary == null ? null : new UTF8String[dictionary.size()];
        } catch (LivebufException e) {
            throw DataException.at(place.of(0, isElement), e);
        }
        wanted = switch (type.typeName()) {
            case "date" -> Kind.DATE;
            case "timestamp" -> Kind.TIMESTAMP;
            case "timestamp_ntz" -> Kind.DATE_TIME;
            default -> Kind.INT;
        };
        children = new DocVector[type instanceof StructType s ? s.length() : 0];
        if (type instanceof StructType s) {
            for (int i = 0; i < children.length; i++) {
                String[] below = Arrays.copyOf(path, path.length + 1);
                below[path.length] = s.apply(i).name();
                Place there = new Place(place.file, place.row, place.column + "." + s.apply(i).name());
                children[i] = new DocVector(array, first, isValid, s.apply(i).dataType(), there, isElement, below);
            }
        }
    }

    /** Whether documents have scalars of a type. Spark has others that are numbers to it, such as intervals. */
    static boolean isScalar(DataType type) {
        return type instanceof StringType || type instanceof DecimalType || SCALARS.contains(type.typeName());
    }

    /** Whether a column of the document is read as a type of Spark as it lies there: all values are of that type. */
    static boolean readsSlots(String name, DataType type) {
        return stored(name, type) != NONE;
    }

    /** How a column of the document is read at once as a type of Spark. */
    private static int stored(String name, DataType type) {
        int code = switch (name) {
            case "i8" -> I8;
            case "i16" -> I16;
            case "i32" -> I32;
            case "i64" -> I64;
            case "u8" -> U8;
            case "u16" -> U16;
            case "u32" -> U32;
            case "f32" -> F32;
            case "f64" -> F64;
            case "dictionary u8" -> TEXTS_U8;
            case "dictionary u16" -> TEXTS_U16;
            default -> NONE;
        };
        boolean fits = switch (type.typeName()) {
            case "long" -> code <= U32;
            case "integer" -> code == I8 || code == I16 || code == I32 || code == U8 || code == U16;
            case "short" -> code == I8 || code == I16 || code == U8;
            case "byte" -> code == I8;
            case "double" -> code != I64 && code <= F64;
            case "float" -> code == F32;
            default -> type instanceof StringType && code >= TEXTS_U8;
        };
        if (fits) {
            return code;
        }
        return switch (type.typeName()) {
            case "date" -> name.equals("date") ? I32 : NONE;
            case "timestamp" -> name.equals("timestamp") ? I64 : NONE;
            case "timestamp_ntz" -> name.equals("date and time") ? I64 : NONE;
            default -> NONE;
        };
    }

    private long integer(int i) {
        int at = first + i;
        return switch (stored) {
            case I8 -> slots.get(at);
            case I16 -> slots.getShort(2 * at);
            case I32 -> slots.getInt(4 * at);
            case U8 -> slots.get(at) & 0xff;
            case U16 -> slots.getShort(2 * at) & 0xffff;
            case U32 -> slots.getInt(4 * at) & 0xffffffffL;
            default -> slots.getLong(8 * at);
        };
    }

    private Value value(int i) {
        return column.get(first + i);
    }

    private DataException damaged(int i, LivebufException e) {
        return DataException.at(place.of(i, isElement), e);
    }

    private DataException wrong(int i, Value v) {
        String text;
        try {
            text = v.toString();
        } catch (RuntimeException e) {
            text = v.kind().toString();
        }
        text = text.length() > 40 ? text.substring(0, 40) + "..." : text;
        return DataException.wrong(place.of(i, isElement), "the value " + text + " (" + v.kind() + ") is no "
            + type.sql() + ": give a schema that has another type, or set onError to \"skip\"");
    }

    /** Looks at each value of some rows, so that what is wrong shows before Spark has the first one. */
    void check(int count) {
        for (int i = 0; i < count; i++) {
            if (!isNullAt(i)) {
                checkValue(i);
            }
        }
        for (DocVector child : children) {
            child.check(count);
        }
    }

    private void checkValue(int i) {
        switch (type.typeName()) {
            case "boolean" -> getBoolean(i);
            case "byte" -> getByte(i);
            case "short" -> getShort(i);
            case "integer", "date" -> getInt(i);
            case "long", "timestamp", "timestamp_ntz" -> getLong(i);
            case "float" -> getFloat(i);
            case "double" -> getDouble(i);
            case "binary" -> getBinary(i);
            case "array" -> element(i).check(value(i).size());
            case "struct" -> { }
            default -> {
                if (type instanceof DecimalType d) {
                    getDecimal(i, d.precision(), d.scale());
                } else {
                    getUTF8String(i);
                }
            }
        }
    }

    @Override
    public void close() {
        // The bytes are the document's.
    }

    @Override
    public void closeIfFreeable() {
        // Nor is anything freed between batches.
    }

    @Override
    public boolean hasNull() {
        return !hasAll;
    }

    @Override
    public int numNulls() {
        return hasAll ? 0 : 1; // Spark asks only whether there are any
    }

    @Override
    public boolean isNullAt(int i) {
        if (hasAll && !(type instanceof StructType)) {
            return false;
        }
        try {
            if (!column.has(first + i)) {
                return true;
            }
            if (type instanceof StructType && !column.type().equals("struct") && !value(i).isObject()) {
                throw wrong(i, value(i));
            }
            return false;
        } catch (LivebufException e) {
            throw damaged(i, e);
        }
    }

    @Override
    public boolean getBoolean(int i) {
        try {
            Value v = value(i);
            if (v.kind() != Kind.BOOLEAN) {
                throw wrong(i, v);
            }
            return v.asBoolean();
        } catch (LivebufException e) {
            throw damaged(i, e);
        }
    }

    @Override
    public byte getByte(int i) {
        return (byte) integer(i, Byte.MIN_VALUE, Byte.MAX_VALUE);
    }

    @Override
    public short getShort(int i) {
        return (short) integer(i, Short.MIN_VALUE, Short.MAX_VALUE);
    }

    @Override
    public int getInt(int i) {
        return (int) integer(i, Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    @Override
    public long getLong(int i) {
        return stored != NONE ? integer(i) : integer(i, Long.MIN_VALUE, Long.MAX_VALUE);
    }

    /** An integer, a day or a moment that lies between two bounds. */
    private long integer(int i, long low, long high) {
        if (stored != NONE) {
            return integer(i);
        }
        try {
            Value v = value(i);
            if (v.kind() != wanted) {
                throw wrong(i, v);
            }
            long x = switch (wanted) {
                case DATE -> v.asDate().toEpochDay();
                case TIMESTAMP -> micros(v.asInstant());
                case DATE_TIME -> micros(v.asDateTime().toInstant(ZoneOffset.UTC));
                default -> v.asLong();
            };
            if (x < low || x > high) {
                throw wrong(i, v);
            }
            return x;
        } catch (LivebufException e) {
            throw damaged(i, e);
        }
    }

    /** Whether a double holds an integer. */
    static boolean isDouble(Value integer) {
        double x = integer.asDouble();
        return Math.abs(x) < EXACT || new BigDecimal(x).compareTo(integer.asBigDecimal()) == 0;
    }

    /** Microseconds since 1970, as Spark counts. */
    static long micros(Instant moment) {
        return ChronoUnit.MICROS.between(Instant.EPOCH, moment);
    }

    @Override
    public float getFloat(int i) {
        if (stored == F32) {
            return slots.getFloat(4 * (first + i));
        }
        double x = getDouble(i);
        // Who asks for FLOAT has doubles rounded, but integers are not, as in a DOUBLE.
        if ((float) x != x && value(i).kind() != Kind.FLOAT) {
            throw wrong(i, value(i));
        }
        return (float) x;
    }

    @Override
    public double getDouble(int i) {
        switch (stored) {
            case F64:
                return slots.getDouble(8 * (first + i));
            case F32:
                return slots.getFloat(4 * (first + i));
            case NONE:
                break;
            default:
                return integer(i);
        }
        try {
            Value v = value(i);
            boolean fits = switch (v.kind()) {
                case FLOAT -> true;
                case INT, UINT -> isDouble(v);
                default -> false;
            };
            if (!fits) {
                throw wrong(i, v);
            }
            return v.asDouble();
        } catch (LivebufException e) {
            throw damaged(i, e);
        }
    }

    @Override
    public Decimal getDecimal(int i, int precision, int scale) {
        try {
            Value v = value(i);
            switch (v.kind()) {
                case INT, UINT, DECIMAL, NUMBER_TEXT -> {
                    BigDecimal x = v.asBigDecimal();
                    if (x.scale() != scale) {
                        x = x.stripTrailingZeros().scale() > scale || Math.abs(x.scale()) > 400 ? null
                            : x.setScale(scale);
                    }
                    if (x == null || x.precision() > precision) {
                        throw wrong(i, v);
                    }
                    return Decimal.apply(x, precision, scale);
                }
                default -> throw wrong(i, v);
            }
        } catch (LivebufException e) {
            throw damaged(i, e);
        }
    }

    @Override
    public UTF8String getUTF8String(int i) {
        if (stored == NONE) {
            return text(i, column, first + i);
        }
        int at = first + i;
        int number = stored == TEXTS_U8 ? slots.get(at) & 0xff : slots.getShort(2 * at) & 0xffff;
        if (number >= texts.length) {
            throw DataException.damaged(place.of(i, isElement), "the dictionary lacks its text: the document is damaged");
        }
        UTF8String text = texts[number];
        if (text == null) {
            text = text(i, dictionary, number);
            texts[number] = text;
        }
        return text;
    }

    /** The text of a value of a column, which stands in a row. */
    private UTF8String text(int i, Column from, int at) {
        try {
            Value v = from.get(at);
            if (v.kind() == Kind.TIME) {
                return UTF8String.fromString(TIME.format(v.asTime()));
            }
            UTF8String text = Functions.text(v);
            if (v.kind() == Kind.TEXT && !isValid && !isAscii(text.getBytes()) && !text.isValid()) {
                throw DataException.damaged(place.of(i, isElement), "the text is not UTF-8: the document is damaged");
            }
            return text;
        } catch (LivebufException e) {
            throw damaged(i, e);
        }
    }

    private static boolean isAscii(byte[] bytes) {
        int all = 0;
        for (byte b : bytes) {
            all |= b;
        }
        return all >= 0;
    }

    @Override
    public byte[] getBinary(int i) {
        try {
            Value v = value(i);
            return switch (v.kind()) {
                case BYTES -> v.asBytes();
                case TEXT -> Functions.text(v).getBytes();
                case UUID -> {
                    UUID id = v.asUuid();
                    yield ByteBuffer.allocate(16).putLong(id.getMostSignificantBits())
                        .putLong(id.getLeastSignificantBits()).array();
                }
                default -> throw wrong(i, v);
            };
        } catch (LivebufException e) {
            throw damaged(i, e);
        }
    }

    @Override
    public ColumnarArray getArray(int i) {
        return new ColumnarArray(element(i), 0, value(i).size());
    }

    /** The elements of the array in a row. */
    private DocVector element(int i) {
        try {
            Value v = value(i);
            if (!v.isArray()) {
                throw wrong(i, v);
            }
            Place there = new Place(place.file, place.row + (isElement ? 0 : i), place.column);
            return new DocVector(v, 0, isValid, ((ArrayType) type).elementType(), there, true);
        } catch (LivebufException e) {
            throw damaged(i, e);
        }
    }

    @Override
    public ColumnarMap getMap(int i) {
        throw new UnsupportedOperationException("documents have no maps: take a STRUCT");
    }

    @Override
    public ColumnVector getChild(int i) {
        return children[i];
    }
}
