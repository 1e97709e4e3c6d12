package io.github.livebuf.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

import io.github.livebuf.Kind;
import io.github.livebuf.Value;

/**
 * A call of one of the functions in a query. It takes part in the code that Spark generates. A path that is a literal
 * is prepared once.
 */
public final class Call extends Expression implements Serializable {
    private static final long serialVersionUID = 1;

    /** The functions. */
    enum Function {
        GET("lb_get(doc, path)", DataTypes.StringType, 2, 2),
        GET_BIGINT("lb_get_bigint(doc, path)", DataTypes.LongType, 2, 2),
        GET_DOUBLE("lb_get_double(doc, path)", DataTypes.DoubleType, 2, 2),
        GET_BOOLEAN("lb_get_boolean(doc, path)", DataTypes.BooleanType, 2, 2),
        JSON("lb_json(doc[, path])", DataTypes.StringType, 1, 2),
        VARIANT("lb_variant(doc[, path])", DataTypes.VariantType, 1, 2),
        SET("lb_set(doc, path, value)", DataTypes.BinaryType, 3, 3),
        FROM_JSON("lb_from_json(json)", DataTypes.BinaryType, 1, 1);

        final String usage;
        final String sqlName;
        private final DataType type;
        private final int least;
        private final int most;

        Function(String usage, DataType type, int least, int most) {
            this.usage = usage;
            this.sqlName = usage.substring(0, usage.indexOf('('));
            this.type = type;
            this.least = least;
            this.most = most;
        }
    }

    private static final Pointer ROOT = Pointer.of(UTF8String.EMPTY_UTF8);

    private final Function function;
    private final Seq<Expression> children;
    private transient volatile Pointer last; // that of the last row; plans share a call, so threads may, too

    Call(Function function, Seq<Expression> children) {
        this.function = function;
        this.children = children;
    }

    @Override
    public TypeCheckResult checkInputDataTypes() {
        int n = children.size();
        String wrong = n < function.least || n > function.most ? "it was given " + n + " arguments" : null;
        for (int i = 0; i < n && wrong == null; i++) {
            DataType type = children.apply(i).dataType();
            boolean isText = i == 1 || function == Function.FROM_JSON;
            boolean good = type instanceof NullType || (i == 2 ? Functions.isStored(type)
                : isText ? type instanceof StringType : type instanceof BinaryType);
            if (!good) {
                wrong = "argument " + (i + 1) + " is " + type.sql() + ", and must be "
                    + (i == 2 ? "a scalar that documents have, or a VARIANT: to_variant_object makes one"
                    : isText ? "STRING" : "BINARY");
            }
        }
        return wrong == null ? TypeCheckResult.TypeCheckSuccess$.MODULE$
            : new TypeCheckResult.TypeCheckFailure(function.usage + ": " + wrong);
    }

    @Override
    public DataType dataType() {
        return function.type;
    }

    @Override
    public boolean nullable() {
        return true;
    }

    @Override
    public String prettyName() {
        return function.sqlName;
    }

    /** The path, where it is the same for all rows; null where it is not, or is null. */
    private Pointer literalPath() {
        if (children.size() < 2) {
            return ROOT;
        }
        Expression path = children.apply(1);
        Object text = path.foldable() ? path.eval(null) : null;
        return text == null ? null : Pointer.of((UTF8String) text);
    }

    @Override
    public Object eval(InternalRow row) {
        Object doc = children.apply(0).eval(row);
        Object path = children.size() < 2 ? UTF8String.EMPTY_UTF8 : children.apply(1).eval(row);
        if (doc == null || path == null) {
            return null;
        }
        if (function == Function.FROM_JSON) {
            return Functions.fromJson((UTF8String) doc, function.sqlName);
        }
        byte[] bytes = (byte[]) doc;
        Pointer pointer = Pointer.of((UTF8String) path, last);
        last = pointer;
        return switch (function) {
            case GET -> Functions.text(bytes, pointer, function.sqlName);
            case JSON -> Functions.json(bytes, pointer, function.sqlName);
            case VARIANT -> Functions.variant(bytes, pointer, function.sqlName);
            case SET -> Functions.set(bytes, pointer, children.apply(2).eval(row), children.apply(2).dataType(),
                function.sqlName);
            default -> {
                Value v = Functions.find(bytes, pointer, function.sqlName);
                yield switch (function) {
                    case GET_BIGINT -> v.kind() == Kind.INT ? (Object) v.asLong() : null;
                    case GET_DOUBLE -> Functions.isNumber(v) ? (Object) Functions.toDouble(v) : null;
                    default -> v.kind() == Kind.BOOLEAN ? (Object) v.asBoolean() : null;
                };
            }
        };
    }

    @Override
    public ExprCode doGenCode(CodegenContext ctx, ExprCode ev) {
        ExprCode[] given = new ExprCode[children.size()];
        for (int i = 0; i < given.length; i++) {
            given[i] = children.apply(i).genCode(ctx);
        }
        String name = '"' + function.sqlName + '"';
        Pointer literal = literalPath();
        String pointer = Pointer.class.getName();
        String path = ctx.addReferenceObj("path", literal, pointer);
        String prepare = "";
        String isNull = given[0].isNull().toString();
        if (literal == null) {
            path = ctx.addMutableState(pointer, "path", x -> x + " = null;", true, true);
            prepare = path + " = " + pointer + ".of(" + given[1].value() + ", " + path + ");\n";
            isNull += " || " + given[1].isNull();
        }
        String doc = given[0].value().toString();
        String value = ev.value().toString();
        String v = ctx.freshName("found");
        String find = "io.github.livebuf.Value " + v + " = " + call("find", doc, path, name) + ";\n";
        String work = switch (function) {
            case GET -> assign(ev, call("text", doc, path, name));
            case JSON -> assign(ev, call("json", doc, path, name));
            case VARIANT -> assign(ev, call("variant", doc, path, name));
            case FROM_JSON -> assign(ev, call("fromJson", doc, name));
            case SET -> {
                DataType type = children.apply(2).dataType();
                String object = given[2].isNull() + " ? null : (Object) " + given[2].value();
                yield assign(ev, call("set", doc, path, object,
                    ctx.addReferenceObj("type", type, DataType.class.getName()), name));
            }
            case GET_BIGINT -> find + choose(ev, v + ".kind() == io.github.livebuf.Kind.INT", v + ".asLong()");
            case GET_DOUBLE -> find + choose(ev, call("isNumber", v), call("toDouble", v));
            case GET_BOOLEAN -> find
                + choose(ev, v + ".kind() == io.github.livebuf.Kind.BOOLEAN", v + ".asBoolean()");
        };
        String java = CodeGenerator.javaType(dataType());
        String code = "\nboolean " + ev.isNull() + " = true;\n" + java + " " + value + " = "
            + CodeGenerator.defaultValue(dataType(), false) + ";\nif (!(" + isNull + ")) {\n" + prepare + work + "}\n";
        // The code of the arguments comes before it.
        List<String> parts = new ArrayList<>(Collections.nCopies(given.length, "\n"));
        parts.add(code);
        List<JavaCode> inputs = Arrays.stream(given).<JavaCode>map(ExprCode::code).toList();
        return ev.copy(new CodeBlock(seq(parts), seq(inputs)), ev.isNull(), ev.value());
    }

    private static String call(String method, String... arguments) {
        return Functions.class.getName() + "." + method + "(" + String.join(", ", arguments) + ")";
    }

    /** The value is an object, which is null where there is none. */
    private static String assign(ExprCode ev, String call) {
        return ev.value() + " = " + call + ";\n" + ev.isNull() + " = " + ev.value() + " == null;\n";
    }

    /** The value is a primitive, where a condition is true. */
    private static String choose(ExprCode ev, String condition, String value) {
        return "if (" + condition + ") {\n" + ev.isNull() + " = false;\n" + ev.value() + " = " + value + ";\n}\n";
    }

    private static <T> Seq<T> seq(List<T> items) {
        return CollectionConverters.asScala(items).toList();
    }

    // --- what Spark asks of each expression

    @Override
    public Seq<Expression> children() {
        return children;
    }

    @Override
    public Expression withNewChildrenInternal(IndexedSeq<Expression> made) {
        return new Call(function, made);
    }

    @Override
    public int productArity() {
        return 2;
    }

    @Override
    public Object productElement(int i) {
        return i == 0 ? function : children;
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof Call;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Call c && c.function == function && c.children.equals(children);
    }

    @Override
    public int hashCode() {
        return Objects.hash(function, children);
    }

    @Override
    public String toString() {
        return function.sqlName + children.mkString("(", ", ", ")");
    }
}
