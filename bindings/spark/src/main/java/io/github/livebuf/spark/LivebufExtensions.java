package io.github.livebuf.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;

import scala.Tuple3;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * The functions of SQL, as an extension of Spark:
 *
 * <pre>{@code spark.sql.extensions=io.github.livebuf.spark.LivebufExtensions}</pre>
 */
public final class LivebufExtensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        for (Call.Function f : Call.Function.values()) {
            ExpressionInfo info = new ExpressionInfo(
                Call.class.getName(), null, f.sqlName, f.usage, "", "", "", "", "", "", "java_udf");
            extensions.injectFunction(
                Tuple3.apply(new FunctionIdentifier(f.sqlName), info, children -> new Call(f, children)));
        }
        return BoxedUnit.UNIT;
    }
}
