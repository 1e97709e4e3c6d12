package io.github.livebuf;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Answers the requests of testdata/conformance.py by this library (testdata/README.md, "The protocol"). */
public final class Conformance {
    private Conformance() {}

    /** What a request gives: what stands behind "ok ", or null for a request that is not known. */
    private static String answer(List<String> request) throws IOException {
        byte[] data = Files.readAllBytes(Path.of(request.get(1)));
        switch (request.get(0)) {
            case "read":
                return Document.open(data).validate().toJson();
            case "validate":
                Document.open(data).validate();
                return "";
            case "encode":
                Option[] options = request.size() > 3 ? new Option[] {Option.RECOGNIZE} : new Option[0];
                Files.write(Path.of(request.get(2)), Livebuf.fromJson(data, options));
                return "";
            case "set":
                Editor editor = Editor.open(data);
                editor.set(request.get(2), Document.open(Livebuf.fromJson(request.get(3))).root());
                Files.write(Path.of(request.get(4)), editor.toByteArray());
                return "";
            default:
                return null;
        }
    }

    /** Reads requests until the input ends. */
    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            List<String> request = new ArrayList<>();
            Document.open(Livebuf.fromJson(line)).root().elements().forEach(word -> request.add(word.asText()));
            try {
                String text = answer(request);
                out.print((text == null ? "skip" : text.isEmpty() ? "ok" : "ok " + text) + "\n");
            } catch (LivebufException e) {
                out.print("no " + e.kind().title() + "\n");
            }
            out.flush();
        }
    }
}
