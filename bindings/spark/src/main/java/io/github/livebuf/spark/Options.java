package io.github.livebuf.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

/**
 * The options of the data source. Their names are those of the data source in Python, in any case and with or without
 * underscores.
 *
 * @param paths files, folders and globs
 * @param table a JSON pointer to the rows of a document
 * @param partitionRows most rows of a partition; 0 to give each core one, of at most a million rows
 * @param inferFiles of how many files the schema is inferred
 * @param needsColumns whether a file must have all columns that are read
 * @param refusesExtra whether a field that the schema lacks is an error
 * @param skips whether damaged files, and rows of other types, are passed over
 */
record Options(List<String> paths, String table, int partitionRows, int inferFiles, boolean needsColumns,
    boolean refusesExtra, boolean skips) implements Serializable {

    private static final String KNOWN = "path, paths, table, partitionRows, inferFiles, missingColumns, extraColumns, "
        + "onError";

    /** Takes the options as Spark hands them over; a wrong one is an IllegalArgumentException. */
    static Options of(Map<String, String> given) {
        Map<String, String> left = new TreeMap<>();
        given.forEach((name, value) -> left.put(name.toLowerCase().replace("_", ""), value));
        List<String> paths = new ArrayList<>();
        String path = left.remove("path");
        if (path != null) {
            paths.add(path);
        }
        String more = left.remove("paths");
        if (more != null) {
            paths.addAll(texts(more));
        }
        String table = left.getOrDefault("table", "");
        if (!table.isEmpty() && !table.startsWith("/")) {
            throw new IllegalArgumentException("table is a JSON pointer, such as \"/rows\", and not \"" + table + "\"");
        }
        boolean all = left.getOrDefault("inferfiles", "all").equals("all");
        Options options = new Options(List.copyOf(paths), table,
            left.containsKey("partitionrows") ? count("partitionRows", left.get("partitionrows")) : 0,
            all ? Integer.MAX_VALUE : count("inferFiles", left.get("inferfiles")),
            choose(left, "missingColumns", "raise", "insert", false),
            choose(left, "extraColumns", "raise", "ignore", !all),
            choose(left, "onError", "skip", "raise", false));
        left.keySet().removeAll(List.of("table", "partitionrows", "inferfiles", "missingcolumns", "extracolumns",
            "onerror"));
        for (String name : left.keySet()) {
            throw new IllegalArgumentException("livebuf has no option \"" + name + "\"; its options are " + KNOWN);
        }
        if (paths.isEmpty()) {
            throw new IllegalArgumentException("which files? Give a path: load(path)");
        }
        return options;
    }

    private static int count(String name, String text) {
        if (!text.matches("[1-9][0-9]{0,8}")) {
            throw new IllegalArgumentException(name + " must be a number from 1 on, and not \"" + text + "\"");
        }
        return Integer.parseInt(text);
    }

    /** Whether an option is the first of its two values. */
    private static boolean choose(Map<String, String> given, String name, String yes, String no, boolean byDefault) {
        String value = given.getOrDefault(name.toLowerCase(), byDefault ? yes : no);
        if (!value.equals(yes) && !value.equals(no)) {
            throw new IllegalArgumentException(
                name + " must be \"" + yes + "\" or \"" + no + "\", and not \"" + value + "\"");
        }
        return value.equals(yes);
    }

    private static List<String> texts(String json) {
        try {
            return List.of(new ObjectMapper().readValue(json, String[].class));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("paths must be a JSON array of texts, and not " + json, e);
        }
    }
}
