package io.github.livebuf.spark;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.SerializableConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import io.github.livebuf.LivebufException;

/** The files that the options name, as any process of the cluster opens them. */
final class Files implements Serializable {
    private static final long serialVersionUID = 1;
    private static final Logger LOG = LoggerFactory.getLogger("io.github.livebuf.spark");

    final Options options;
    private final SerializableConfiguration conf;

    /**
     * A file.
     *
     * @param name with its scheme, so that it means the same in each process
     * @param size in bytes
     */
    record Found(String name, long size) implements Serializable {}

    /** Takes the settings of the session that is active. */
    Files(Options options) {
        this.options = options;
        this.conf = new SerializableConfiguration(
            new Configuration(SparkSession.active().sparkContext().hadoopConfiguration()));
    }

    /**
     * The files, in order. Of a folder these are all documents and logs in it and below, by their extensions; names that
     * begin with "." or "_" are passed over, as by Spark.
     */
    List<Found> find() {
        List<Found> all = new ArrayList<>();
        for (String path : options.paths()) {
            try {
                List<Found> found = find(new Path(path));
                if (found.isEmpty()) {
                    throw new FileNotFoundException(path + ": no document (*.lbuf) or log (*.lblog) is there");
                }
                all.addAll(found);
            } catch (IOException e) {
                throw new UncheckedIOException(e.getMessage(), e);
            }
        }
        return all;
    }

    private List<Found> find(Path path) throws IOException {
        FileSystem fs = system(path);
        List<Found> found = new ArrayList<>();
        boolean isNamed = fs.exists(path);
        FileStatus[] there = isNamed ? new FileStatus[] {fs.getFileStatus(path)} : fs.globStatus(path);
        for (FileStatus one : there == null ? new FileStatus[0] : there) {
            if (one.isFile()) {
                found.add(new Found(one.getPath().toString(), one.getLen()));
                continue;
            }
            // The name of a folder that a glob finds counts as one in it does.
            String root = one.getPath().toUri().getPath();
            int start = isNamed ? root.length() : root.lastIndexOf('/');
            RemoteIterator<LocatedFileStatus> below = fs.listFiles(one.getPath(), true);
            while (below.hasNext()) {
                FileStatus file = below.next();
                if (isWanted(file.getPath().toUri().getPath().substring(start))) {
                    found.add(new Found(file.getPath().toString(), file.getLen()));
                }
            }
        }
        Collections.sort(found, (a, b) -> a.name.compareTo(b.name));
        return found;
    }

    private static boolean isWanted(String relative) {
        for (String part : relative.split("/")) {
            if (part.startsWith(".") || part.startsWith("_")) {
                return false;
            }
        }
        return relative.endsWith(".lbuf") || relative.endsWith(".lblog");
    }

    private FileSystem system(Path path) throws IOException {
        return path.getFileSystem(conf.value());
    }

    /** Opens a file. What is wrong with it is a DataException with its name. */
    Rows open(String name) {
        try {
            Path path = new Path(name);
            return Rows.open(system(path), path, options.table());
        } catch (LivebufException e) {
            throw DataException.at(name, e);
        } catch (IOException e) {
            throw new UncheckedIOException(name + ": " + e.getMessage(), e);
        }
    }

    /** Whether a file is on a local file system, so that row ranges of it are read apart from each other. */
    static boolean isLocal(String name) {
        return name.startsWith("file:");
    }

    /** What the work gives; null and a warning in the log where it fails and the options say to skip. */
    <T> T guard(Supplier<T> work) {
        try {
            return work.get();
        } catch (DataException e) {
            if (!options.skips()) {
                throw e;
            }
            warn(e);
            return null;
        }
    }

    /** Says in the log what is skipped. */
    void warn(DataException e) {
        LOG.warn("skipped: {}", e.getMessage());
    }
}
