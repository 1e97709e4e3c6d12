package io.github.livebuf.spark;

import org.apache.spark.sql.SparkSession;

/** Sessions of the tests and the benchmark. */
final class Session {
    private Session() {}

    static SparkSession.Builder builder(String master) {
        return SparkSession.builder().master(master).appName("livebuf")
            .config("spark.sql.extensions", LivebufExtensions.class.getName())
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.warehouse.dir", System.getProperty("java.io.tmpdir"))
            .config("spark.log.level", "OFF");
    }
}
