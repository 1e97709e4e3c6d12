package io.github.livebuf.spark;

import java.util.List;
import java.util.Map;

import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source {@code "livebuf"}: tables in documents and logs.
 *
 * <pre>{@code spark.read().format("livebuf").option("table", "/rows").load("folder");}</pre>
 */
public final class LivebufSource implements TableProvider, DataSourceRegister {
    @Override
    public String shortName() {
        return "livebuf";
    }

    @Override
    public boolean supportsExternalMetadata() {
        return true; // a schema may be given
    }

    /** The columns of all files, or of the first ones that have rows. */
    @Override
    public StructType inferSchema(CaseInsensitiveStringMap given) {
        Files files = new Files(Options.of(given));
        StructType joined = null;
        int left = files.options.inferFiles();
        List<Files.Found> found = files.find();
        for (Files.Found file : found) {
            StructType schema = left == 0 ? null : files.guard(() -> schema(files, file.name()));
            if (schema != null) {
                try {
                    joined = joined == null ? schema : Found.join(joined, schema);
                } catch (IllegalArgumentException e) {
                    throw new IllegalArgumentException(file.name() + ": " + e.getMessage(), e);
                }
                left--;
            }
        }
        if (joined == null) {
            throw new IllegalArgumentException(
                found.get(0).name() + ": no file has rows to infer a schema from: give a schema");
        }
        return (StructType) Found.known(joined);
    }

    /** The columns of a file; null if it has no rows. */
    private static StructType schema(Files files, String name) {
        try (Rows rows = files.open(name)) {
            return rows.schema(files);
        }
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new LivebufTable(new Files(Options.of(properties)), schema);
    }
}
