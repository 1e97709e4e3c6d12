package io.github.livebuf;

import static io.github.livebuf.Layout.HEADER_SIZE;
import static io.github.livebuf.Layout.HEADER_USED;
import static io.github.livebuf.Layout.MAX_USED;

import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a server sends for requests for ranges (RFC 9110, 14). */
final class HttpSource implements Partial.Source {
    private static final Pattern RANGE = Pattern.compile("bytes (\\d{1,18})-(\\d{1,18})/(\\*|\\d{1,18})");

    private final HttpClient client;
    private final HttpRequest request;
    private String version; // by which the server tells versions of the file apart; null before the first answer
    private byte[] whole; // where the server has no ranges

    HttpSource(HttpClient client, HttpRequest request) {
        this.client = client;
        this.request = request;
    }

    @Override
    public byte[] read(long offset, int count) throws IOException {
        if (whole != null) {
            return part(offset, count);
        }
        HttpRequest.Builder ranged = HttpRequest.newBuilder(request, (name, value) -> true)
            .setHeader("Range", "bytes=" + offset + "-" + (offset + count - 1))
            .setHeader("Accept-Encoding", "identity");
        if (version != null && version.startsWith("\"")) {
            ranged.setHeader("If-Match", version);
        }
        HttpResponse<InputStream> answer;
        try {
            answer = client.send(ranged.build(), HttpResponse.BodyHandlers.ofInputStream());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while waiting for " + request.uri(), e);
        }
        try (InputStream body = answer.body()) {
            return take(answer, body, offset, count);
        }
    }

    private byte[] take(HttpResponse<?> answer, InputStream body, long offset, int count) throws IOException {
        int status = answer.statusCode();
        if (status == 416) {
            return new byte[0]; // the file ends before the range
        }
        if (status != 200 && status != 206 && status != 412) {
            throw new IOException("the server answered " + status + " for " + request.uri());
        }
        String found = version(answer.headers());
        if (status == 412 || version != null && (status == 200 || !version.equals(found))) {
            throw new IOException(request.uri() + " changed while it was read: open it again");
        }
        if (status == 200) {
            // No more than the document has, whatever the server sends behind it.
            byte[] head = body.readNBytes(HEADER_SIZE);
            long used = Math.min(new Mem(head, head.length).u32(HEADER_USED), MAX_USED);
            byte[] rest = body.readNBytes((int) Math.max(used - head.length, 0));
            whole = Arrays.copyOf(head, head.length + rest.length);
            System.arraycopy(rest, 0, whole, head.length, rest.length);
            return part(offset, count);
        }
        String said = answer.headers().firstValue("Content-Range").orElse("");
        Matcher range = RANGE.matcher(said);
        if (!range.matches() || Long.parseLong(range.group(1)) != offset) {
            throw new IOException("the server answered with the range \"" + said + "\" for bytes from " + offset
                + " on of " + request.uri());
        }
        byte[] bytes = body.readNBytes(count);
        if (bytes.length == 0) {
            throw new IOException("the server sent an empty range of " + request.uri());
        }
        version = found;
        return bytes;
    }

    private byte[] part(long offset, int count) {
        int from = (int) Math.min(offset, whole.length);
        return Arrays.copyOfRange(whole, from, (int) Math.min((long) from + count, whole.length));
    }

    /** What names a version of the file: its ETag, or the time of its last change, and its length. */
    private static String version(HttpHeaders headers) {
        String length = headers.firstValue("Content-Range").orElse("").replaceFirst(".*/", "/");
        return headers.firstValue("ETag").filter(tag -> tag.startsWith("\""))
            .orElseGet(() -> headers.firstValue("Last-Modified").orElse("") + length);
    }
}
