package io.github.livebuf.spark;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

import io.github.livebuf.Value;

/** Reads a partition: block by block, without those that no filter passes. */
final class BlockReader implements PartitionReader<ColumnarBatch> {
    private final LivebufTable.FileScan scan;
    private final LivebufTable.Part part;
    private final Rows rows; // null if the file is skipped
    private final Iterator<Rows.Block> blocks;
    private Value seen; // the array that was checked last
    private boolean areObjects;
    private boolean isSound;
    private ColumnarBatch batch;
    private long read;
    private long skipped;

    BlockReader(LivebufTable.FileScan scan, LivebufTable.Part part) {
        this.scan = scan;
        this.part = part;
        rows = scan.files().guard(() -> scan.files().open(part.file()));
        if (rows == null) {
            blocks = List.<Rows.Block>of().iterator();
        } else if (scan.files().options.skips()) {
            blocks = rows.soundBlocks(part.from(), part.to(), scan.files()::warn);
        } else {
            blocks = rows.blocks(part.from(), part.to());
        }
    }

    @Override
    public boolean next() {
        while (blocks.hasNext()) {
            Rows.Block block = blocks.next();
            if (block.array() != seen) {
                seen = block.array();
                isSound = scan.files().guard(() -> checkArray(block)) != null;
            }
            if (!isSound) {
                continue;
            }
            if (!Arrays.stream(scan.pushed()).allMatch(p -> Ranges.mayPass(p, block))) {
                skipped++;
                continue;
            }
            ColumnVector[] columns = columns(block);
            if (scan.files().options.skips() && scan.files().guard(() -> check(columns, block.count())) == null) {
                continue;
            }
            batch = new ColumnarBatch(columns, block.count());
            read++;
            return true;
        }
        return false;
    }

    /** Checks what the options say of all rows of an array; damage in it, too, if damaged files are skipped. */
    private Boolean checkArray(Rows.Block block) {
        Options options = scan.files().options;
        areObjects = DataException.in(rows.name, () -> Found.areObjects(block.array()));
        if (options.needsColumns() || options.refusesExtra()) {
            StructType found = rows.schema(block.array());
            for (StructField f : scan.wanted().fields()) {
                if (options.needsColumns() && !List.of(found.fieldNames()).contains(f.name())) {
                    throw DataException.wrong(rows.name, "there is no column \"" + f.name()
                        + "\": set missingColumns to \"insert\" to have nulls");
                }
            }
            String extra = options.refusesExtra() ? Found.extra(found, scan.all()) : null;
            if (extra != null) {
                throw DataException.wrong(rows.name, "column \"" + extra + "\" is not in the schema: infer it from "
                    + "all files, or leave the column out by setting extraColumns to \"ignore\"");
            }
        }
        if (options.skips() && !block.isValid()) {
            try {
                check(columns(new Rows.Block(block.array(), 0, block.array().size(), 0, false)), block.array().size());
            } catch (DataException e) {
                if (!e.isWrongType()) {
                    throw e;
                }
                // A block without such values is good.
            }
        }
        return true;
    }

    private static Boolean check(ColumnVector[] columns, int count) {
        for (ColumnVector column : columns) {
            ((DocVector) column).check(count);
        }
        return true;
    }

    /** The columns of the query. Rows that are no objects are a column "value". */
    private ColumnVector[] columns(Rows.Block block) {
        return Arrays.stream(scan.wanted().fields()).map(f -> !areObjects && f.name().equals("value")
            ? DocVector.of(block, rows.name, f.dataType()) : DocVector.of(block, rows.name, f.dataType(), f.name()))
            .toArray(ColumnVector[]::new);
    }

    @Override
    public ColumnarBatch get() {
        return batch;
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
        return new CustomTaskMetric[] {metric(LivebufTable.BlocksRead.NAME, read),
            metric(LivebufTable.BlocksSkipped.NAME, skipped)};
    }

    private static CustomTaskMetric metric(String name, long value) {
        return new CustomTaskMetric() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public long value() {
                return value;
            }
        };
    }

    @Override
    public void close() {
        if (rows != null) {
            rows.close();
        }
    }
}
