package io.github.livebuf.spark;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Iterator;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import io.github.livebuf.Livebuf;
import io.github.livebuf.LogWriter;

/** The list of tests that the data source in Python passes, too; README.md says what it holds. */
final class Cases {
    private Cases() {}

    static Iterable<JsonNode> all() throws IOException {
        try (InputStream in = Cases.class.getResourceAsStream("/cases.json")) {
            return new ObjectMapper().readTree(in);
        }
    }

    /** Writes the files of a case into a folder. */
    static void write(JsonNode files, Path folder) throws IOException {
        for (Iterator<Map.Entry<String, JsonNode>> it = files.fields(); it.hasNext();) {
            Map.Entry<String, JsonNode> file = it.next();
            Path path = folder.resolve(file.getKey());
            JsonNode content = file.getValue();
            Files.createDirectories(path.getParent());
            if (content.has("log")) {
                try (LogWriter log = LogWriter.create(path)) {
                    for (JsonNode call : content.get("log")) {
                        log.extend(io.github.livebuf.Document.open(Livebuf.fromJson(call.toString())).root().elements());
                    }
                }
            } else {
                Files.write(path, content.has("json") ? Livebuf.fromJson(content.get("json").toString())
                    : content.has("base64") ? Base64.getDecoder().decode(content.get("base64").asText())
                    : content.get("text").asText().getBytes(StandardCharsets.UTF_8));
            }
            if (content.has("damage")) {
                damage(path, content.get("damage").asText());
            }
        }
    }

    /** Makes the first byte of a text in a file one that no UTF-8 has. */
    static void damage(Path path, String text) throws IOException {
        byte[] bytes = Files.readAllBytes(path);
        // One character for each byte.
        int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf(text);
        bytes[at] = (byte) 0xff;
        Files.write(path, bytes);
    }
}
