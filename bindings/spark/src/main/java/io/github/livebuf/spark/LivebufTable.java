package io.github.livebuf.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** The rows of all files that the options name. */
final class LivebufTable implements SupportsRead {
    private static final int MAX_PARTITION = 1_000_000; // rows

    private final Files files;
    private final StructType schema;

    LivebufTable(Files files, StructType schema) {
        this.files = files;
        this.schema = schema.asNullable();
        for (StructField f : schema.fields()) {
            check(f.name(), f.dataType());
        }
    }

    private static void check(String name, DataType type) {
        if (type instanceof StructType s) {
            Arrays.stream(s.fields()).forEach(f -> check(name + "." + f.name(), f.dataType()));
        } else if (type instanceof ArrayType a) {
            check(name + "[]", a.elementType());
        } else if (!DocVector.isScalar(type)) {
            throw new IllegalArgumentException("column " + name + " is " + type.sql()
                + ", which livebuf does not read: take BINARY, STRUCT or another type of the schema that is inferred");
        }
    }

    @Override
    public String name() {
        return "livebuf " + String.join(", ", files.options.paths());
    }

    @Override
    @SuppressWarnings("deprecation") // what replaces it is made of this
    public StructType schema() {
        return schema;
    }

    @Override
    public Set<TableCapability> capabilities() {
        return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new Builder(files, schema);
    }

    /** Takes the columns that a query needs, and the filters that pass over blocks. */
    private static final class Builder
        implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownV2Filters {
        private final Files files;
        private final StructType all;
        private StructType wanted;
        private Predicate[] pushed = {};

        Builder(Files files, StructType all) {
            this.files = files;
            this.all = all;
            this.wanted = all;
        }

        @Override
        public void pruneColumns(StructType required) {
            wanted = required;
        }

        /** Spark evaluates all of them again, since blocks have rows that do not pass. */
        @Override
        public Predicate[] pushPredicates(Predicate[] predicates) {
            pushed = Arrays.stream(predicates).filter(Ranges::understands).toArray(Predicate[]::new);
            return predicates;
        }

        @Override
        public Predicate[] pushedPredicates() {
            return pushed;
        }

        @Override
        public Scan build() {
            return new FileScan(files, all, wanted, pushed);
        }
    }

    /** Some rows of a file. */
    record Part(String file, long from, long to) implements InputPartition {
        static final long ALL = Long.MAX_VALUE; // where rows end that were not counted
    }

    /**
     * What is read.
     *
     * @param all the columns of the table
     * @param wanted those that are read
     */
    record FileScan(Files files, StructType all, StructType wanted, Predicate[] pushed)
        implements Scan, Batch, SupportsReportStatistics, PartitionReaderFactory {

        @Override
        public StructType readSchema() {
            return wanted;
        }

        @Override
        public String description() {
            return "livebuf " + files.options.paths() + ", pushed filters " + Arrays.toString(pushed);
        }

        @Override
        public ColumnarSupportMode columnarSupportMode() {
            return ColumnarSupportMode.SUPPORTED;
        }

        @Override
        public CustomMetric[] supportedCustomMetrics() {
            return new CustomMetric[] {new BlocksRead(), new BlocksSkipped()};
        }

        @Override
        public Statistics estimateStatistics() {
            long size = files.find().stream().mapToLong(Files.Found::size).sum();
            return new Statistics() {
                @Override
                public OptionalLong sizeInBytes() {
                    return OptionalLong.of(size);
                }

                @Override
                public OptionalLong numRows() {
                    return OptionalLong.empty();
                }
            };
        }

        @Override
        public Batch toBatch() {
            return this;
        }

        /** Ranges of rows of files that are local or logs. Others are not opened: a document there is read whole. */
        @Override
        public InputPartition[] planInputPartitions() {
            List<Part> whole = new ArrayList<>();
            for (Files.Found file : files.find()) {
                if (!Files.isLocal(file.name()) && !file.name().endsWith(".lblog")) {
                    whole.add(new Part(file.name(), 0, Part.ALL));
                    continue;
                }
                Long size = files.guard(() -> {
                    try (Rows rows = files.open(file.name())) {
                        return rows.size();
                    }
                });
                if (size != null) {
                    whole.add(new Part(file.name(), 0, size));
                }
            }
            long rows = whole.stream().mapToLong(Part::to).filter(n -> n < Part.ALL).sum();
            long cores = SparkSession.active().sparkContext().defaultParallelism();
            long most = files.options.partitionRows() > 0 ? files.options.partitionRows()
                : Math.max(Math.min((rows + cores - 1) / cores, MAX_PARTITION), Rows.BLOCK);
            List<Part> parts = new ArrayList<>();
            for (Part file : whole) {
                long each = file.to < Part.ALL ? most : Part.ALL;
                for (long from = 0; from < file.to; from += Math.min(each, file.to - from)) {
                    parts.add(new Part(file.file, from, from + Math.min(each, file.to - from)));
                }
            }
            return parts.toArray(InputPartition[]::new);
        }

        @Override
        public PartitionReaderFactory createReaderFactory() {
            return this;
        }

        @Override
        public boolean supportColumnarReads(InputPartition partition) {
            return true;
        }

        @Override
        public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
            return new BlockReader(this, (Part) partition);
        }

        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            throw new UnsupportedOperationException("livebuf is read by columns");
        }
    }

    /** How many blocks of rows were handed to Spark. */
    public static final class BlocksRead extends CustomSumMetric {
        static final String NAME = "blocksRead";

        /** For Spark. */
        public BlocksRead() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "blocks of rows that were read";
        }
    }

    /** How many blocks of rows the filters passed over. */
    public static final class BlocksSkipped extends CustomSumMetric {
        static final String NAME = "blocksSkipped";

        /** For Spark. */
        public BlocksSkipped() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "blocks of rows that filters passed over";
        }
    }
}
