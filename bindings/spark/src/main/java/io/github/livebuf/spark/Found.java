package io.github.livebuf.spark;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

import io.github.livebuf.Column;
import io.github.livebuf.Kind;
import io.github.livebuf.Member;
import io.github.livebuf.Value;

/**
 * The values that were seen in a column, and the type that holds them. Where a document stores rows by columns, most
 * types follow from their headers; the values of others are looked at.
 */
final class Found {
    private static final int MAX_FIELDS = 1024; // keys of an object within a row
    private static final int MAX_DEPTH = 64;
    private static final DecimalType UNSIGNED = DataTypes.createDecimalType(20, 0); // integers, some above BIGINT

    /** The numbers, which some types hold together. */
    private static final Set<Kind> NUMBERS =
        Set.of(Kind.INT, Kind.UINT, Kind.FLOAT, Kind.DECIMAL, Kind.NUMBER_TEXT);

    private final Set<Kind> kinds = new LinkedHashSet<>();
    private final int depth;
    private boolean exists; // whether there is a value or a null
    private boolean negative;
    private boolean rounded; // an integer that a double does not hold
    private int whole; // most digits before the point
    private int scale; // and behind it
    private final Map<String, Found> fields = new LinkedHashMap<>();
    private Found elements;

    private Found(int depth) {
        this.depth = depth;
    }

    /** The columns of an array of rows, with NULL as the type of those without a value. */
    static StructType schema(Value array) {
        Found found = new Found(0);
        found.column(array);
        if (found.kinds.isEmpty()) {
            return new StructType();
        }
        if (found.kinds.equals(Set.of(Kind.OBJECT))) {
            return found.struct("");
        }
        return new StructType().add("value", found.type("value"));
    }

    /** Whether the elements of an array are objects, as rows of a table are. */
    static boolean areObjects(Value array) {
        String type = array.column().type();
        return type.equals("struct") || type.equals("objects") || type.equals("null")
            || type.equals("cells") && array.stream().allMatch(v -> v.isObject() || v.isNull());
    }

    /** Looks at the column of a key of all rows; without a key, at the rows. */
    private void column(Value array, String... path) {
        Column c = array.column(path);
        Kind kind = switch (c.type()) {
            case "bool" -> Kind.BOOLEAN;
            case "i8", "i16", "i32", "i64", "u8", "u16", "u32" -> Kind.INT;
            case "f32", "f64" -> Kind.FLOAT;
            case "text", "dictionary u8", "dictionary u16", "text run" -> Kind.TEXT;
            case "date" -> Kind.DATE;
            case "time" -> Kind.TIME;
            case "date and time" -> Kind.DATE_TIME;
            case "timestamp" -> Kind.TIMESTAMP;
            case "uuid" -> Kind.UUID;
            case "struct" -> Kind.OBJECT;
            default -> null;
        };
        // Integers within lists may meet floats of other lists, so they are looked at; those of a column meet none.
        if (kind == null || kind == Kind.INT && depth > path.length) {
            for (int i = 0; i < c.size(); i++) {
                add(c.get(i));
            }
            return;
        }
        for (int i = 0; i < c.size(); i++) {
            if (c.has(i)) {
                kinds.add(kind);
                exists = true;
                break;
            }
            exists |= c.get(i).isNull();
        }
        for (String key : c.keys()) {
            String[] below = Arrays.copyOf(path, path.length + 1);
            below[path.length] = key;
            Found field = fields.computeIfAbsent(key, k -> new Found(depth + 1));
            field.column(array, below);
            if (!field.exists) {
                fields.remove(key);
            }
        }
    }

    private void add(Value v) {
        if (!v.exists()) {
            return;
        }
        exists = true;
        if (v.isNull()) {
            return;
        }
        kinds.add(v.kind());
        switch (v.kind()) {
            case INT -> {
                negative |= v.asLong() < 0;
                digits(v);
            }
            case UINT, DECIMAL -> digits(v);
            case OBJECT -> {
                if (depth < MAX_DEPTH) {
                    for (Member m : v.members()) {
                        fields.computeIfAbsent(m.key(), k -> new Found(depth + 1)).add(m.value());
                    }
                }
            }
            case ARRAY -> {
                if (elements == null) {
                    elements = new Found(depth + 1);
                }
                if (depth < MAX_DEPTH) {
                    elements.column(v);
                }
            }
            default -> { }
        }
    }

    /** Counts the digits of an integer or a decimal, and whether a double holds it. */
    private void digits(Value v) {
        BigDecimal x = v.asBigDecimal();
        whole = Math.max(whole, x.precision() - x.scale());
        scale = Math.max(scale, x.scale());
        rounded |= v.kind() != Kind.DECIMAL && !DocVector.isDouble(v);
    }

    private DataType type(String name) {
        if (kinds.isEmpty()) {
            return DataTypes.NullType;
        }
        if (NUMBERS.containsAll(kinds)) {
            return number(name);
        }
        if (kinds.size() > 1 || depth >= MAX_DEPTH || depth > 0 && fields.size() > MAX_FIELDS) {
            return DataTypes.StringType;
        }
        return switch (kinds.iterator().next()) {
            case BOOLEAN -> DataTypes.BooleanType;
            case BYTES, UUID -> DataTypes.BinaryType;
            case DATE -> DataTypes.DateType;
            case DATE_TIME -> DataTypes.TimestampNTZType;
            case TIMESTAMP -> DataTypes.TimestampType;
            case OBJECT -> struct(name + ".");
            case ARRAY -> DataTypes.createArrayType(elements.type(name + "[]"));
            default -> DataTypes.StringType;
        };
    }

    private DataType number(String name) {
        if (kinds.equals(Set.of(Kind.INT))) {
            return DataTypes.LongType;
        }
        if (kinds.contains(Kind.FLOAT) && !rounded
            && Set.of(Kind.INT, Kind.UINT, Kind.FLOAT).containsAll(kinds)) {
            return DataTypes.DoubleType;
        }
        if (!negative && Set.of(Kind.INT, Kind.UINT).containsAll(kinds)) {
            return UNSIGNED;
        }
        if (kinds.contains(Kind.DECIMAL) && Set.of(Kind.INT, Kind.UINT, Kind.DECIMAL).containsAll(kinds)
            && whole + scale <= DecimalType.MAX_PRECISION()) {
            return DataTypes.createDecimalType(DecimalType.MAX_PRECISION(), scale);
        }
        throw new IllegalArgumentException("column " + name + " has numbers that no type of Spark holds together "
            + kinds + ": give a schema in which it is STRING, or DECIMAL if none of them is a float");
    }

    private StructType struct(String above) {
        List<StructField> all = new ArrayList<>();
        fields.forEach((key, found) -> all.add(DataTypes.createStructField(key, found.type(above + key), true)));
        return new StructType(all.toArray(StructField[]::new));
    }

    // --- schemas of several files

    /** The columns of both schemas. Most numbers have a type in common, and texts one with what is no container. */
    static StructType join(StructType one, StructType other) {
        return join("", one, other);
    }

    private static StructType join(String above, StructType one, StructType other) {
        Map<String, DataType> fields = new LinkedHashMap<>();
        for (StructField f : one.fields()) {
            fields.put(f.name(), f.dataType());
        }
        for (StructField f : other.fields()) {
            fields.merge(f.name(), f.dataType(), (a, b) -> wider(above + f.name(), a, b));
        }
        StructType joined = new StructType();
        for (Map.Entry<String, DataType> f : fields.entrySet()) {
            joined = joined.add(f.getKey(), f.getValue());
        }
        return joined;
    }

    private static DataType wider(String name, DataType a, DataType b) {
        if (a.equals(b) || b instanceof NullType) {
            return a;
        }
        if (a instanceof NullType) {
            return b;
        }
        if (a instanceof StructType one && b instanceof StructType other) {
            return join(name + ".", one, other);
        }
        if (a instanceof ArrayType one && b instanceof ArrayType other) {
            return DataTypes.createArrayType(wider(name + "[]", one.elementType(), other.elementType()));
        }
        boolean doubles = a.equals(DataTypes.DoubleType) || b.equals(DataTypes.DoubleType);
        boolean longs = a.equals(DataTypes.LongType) || b.equals(DataTypes.LongType);
        boolean decimals = a instanceof DecimalType || b instanceof DecimalType;
        // A double holds no decimal, and integers one by one.
        if (doubles && (longs || a.equals(UNSIGNED) || b.equals(UNSIGNED))) {
            return DataTypes.DoubleType;
        }
        if (decimals && (longs || a instanceof DecimalType && b instanceof DecimalType)) {
            DecimalType x = a instanceof DecimalType d ? d : (DecimalType) b;
            DecimalType y = b instanceof DecimalType d ? d : (DecimalType) a;
            return DataTypes.createDecimalType(Math.max(x.precision(), y.precision()), Math.max(x.scale(), y.scale()));
        }
        boolean nested = a instanceof StructType || b instanceof StructType || a instanceof ArrayType
            || b instanceof ArrayType;
        if (!nested && (a instanceof StringType || b instanceof StringType)) {
            return DataTypes.StringType;
        }
        throw new IllegalArgumentException("column " + name + " is " + a.sql() + " in files before, and " + b.sql()
            + " here: give a schema");
    }

    /** The same with texts where no value says another type. */
    static DataType known(DataType type) {
        if (type instanceof NullType) {
            return DataTypes.StringType;
        }
        if (type instanceof ArrayType a) {
            return DataTypes.createArrayType(known(a.elementType()));
        }
        if (type instanceof StructType s) {
            StructType made = new StructType();
            for (StructField f : s.fields()) {
                made = made.add(f.name(), known(f.dataType()));
            }
            return made;
        }
        return type;
    }

    /** The first field of a schema that another one lacks, within structs and arrays too; null if it has all. */
    static String extra(DataType found, DataType known) {
        if (found instanceof ArrayType a) {
            String deeper = known instanceof ArrayType k ? extra(a.elementType(), k.elementType()) : null;
            return deeper == null ? null : "[]." + deeper;
        }
        if (found instanceof StructType s && known instanceof StructType k) {
            for (StructField f : s.fields()) {
                if (!List.of(k.fieldNames()).contains(f.name())) {
                    return f.name();
                }
                String deeper = extra(f.dataType(), k.apply(f.name()).dataType());
                if (deeper != null) {
                    return f.name() + "." + deeper;
                }
            }
        }
        return null;
    }
}
