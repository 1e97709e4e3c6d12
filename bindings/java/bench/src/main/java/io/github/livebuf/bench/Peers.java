package io.github.livebuf.bench;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.cbor.CBORFactory;
import com.fasterxml.jackson.dataformat.smile.SmileFactory;
import com.fasterxml.jackson.module.afterburner.AfterburnerModule;
import com.fasterxml.jackson.module.blackbird.BlackbirdModule;
import io.github.livebuf.Cursor;
import io.github.livebuf.Document;
import io.github.livebuf.Editor;
import io.github.livebuf.Key;
import io.github.livebuf.Livebuf;
import io.github.livebuf.Mapper;
import io.github.livebuf.Value;
import io.github.livebuf.jackson.LivebufFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.bson.BsonDocument;
import org.bson.BsonInt32;
import org.bson.RawBsonDocument;
import org.bson.codecs.BsonDocumentCodec;
import org.msgpack.jackson.dataformat.MessagePackFactory;

/** What each library does for a task, by its name. Those of one task give equal answers: {@link Main} checks it. */
public final class Peers {
    private Peers() {}

    /** A task that is done once on each call. */
    interface Task {
        Object run() throws Exception;
    }

    /** A number that is found. It is the same object each time, so that what is made is the library's. */
    private static final class Found implements Task {
        private final LongTask task;
        private long x;

        Found(LongTask task) {
            this.task = task;
        }

        @Override
        public Object run() throws Exception {
            x = task.run();
            return this;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Found f && f.x == x;
        }

        @Override
        public int hashCode() {
            return Long.hashCode(x);
        }
    }

    /** A task that finds a number. */
    private interface LongTask {
        long run() throws Exception;
    }

    static final Map<String, ObjectMapper> MAPPERS = new LinkedHashMap<>();

    static {
        MAPPERS.put("jackson", new ObjectMapper());
        MAPPERS.put("afterburner", new ObjectMapper().registerModule(new AfterburnerModule()));
        MAPPERS.put("blackbird", new ObjectMapper().registerModule(new BlackbirdModule()));
        MAPPERS.put("cbor", new ObjectMapper(new CBORFactory()));
        MAPPERS.put("smile", new ObjectMapper(new SmileFactory()));
        MAPPERS.put("msgpack", new ObjectMapper(new MessagePackFactory()));
        MAPPERS.put("livebuf_jackson", new ObjectMapper(new LivebufFactory()));
        MAPPERS.values().forEach(m -> m.disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES));
    }

    /** Those whose trees are read; afterburner and blackbird are about classes. */
    private static final List<String> TREES = List.of("jackson", "cbor", "smile", "msgpack", "livebuf_jackson");

    // --- twitter.json, minified, in the form of each

    /** The file that JSON parsers are usually measured with, if it is beside the project; else a document of tests. */
    static JsonNode twitter() {
        Path file = Path.of(System.getProperty("livebuf.twitter", "../../../../shared/data/twitter.json"));
        try {
            return MAPPERS.get("jackson").readTree(
                Files.exists(file) ? Files.readAllBytes(file) : likeTwitter());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A hundred tweets that are made up, where the file is not there. */
    private static byte[] likeTwitter() {
        List<Map<String, Object>> statuses = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            Map<String, Object> user = new LinkedHashMap<>();
            user.put("id", 1_000_000L + i);
            user.put("name", "user " + i);
            user.put("description", "what user " + i + " says of itself, in some words");
            user.put("followers_count", 100 + i);
            Map<String, Object> tweet = new LinkedHashMap<>();
            tweet.put("id", 500_000_000_000L + i);
            tweet.put("text", "the text of tweet " + i + " ".repeat(i % 3) + "\u65e5\u672c".repeat(20));
            tweet.put("user", user);
            tweet.put("entities", Map.of("hashtags", List.of(), "urls", List.of("https://example.org/" + i)));
            tweet.put("retweet_count", i % 7);
            statuses.add(tweet);
        }
        return Document.open(Livebuf.encode(Map.of("statuses", statuses))).toJson().getBytes(
            java.nio.charset.StandardCharsets.UTF_8);
    }

    static byte[] in(String form, Object tree) {
        try {
            return MAPPERS.get(form).writeValueAsBytes(tree);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static RawBsonDocument bson(JsonNode tree) {
        return new RawBsonDocument(BsonDocument.parse(tree.toString()), new BsonDocumentCodec());
    }

    private static Map<String, byte[]> forms(JsonNode tree) {
        Map<String, byte[]> forms = new LinkedHashMap<>();
        TREES.forEach(form -> forms.put(form, in(form, tree)));
        return forms;
    }

    // --- tasks

    /** Reads how many followers the user of tweet 50 has, out of stored bytes. */
    static Map<String, Task> oneField() {
        JsonNode tree = twitter();
        byte[] document = Livebuf.fromJson(in("jackson", tree));
        Document open = Document.open(document);
        Key statuses = Key.of("statuses"), user = Key.of("user"), followers = Key.of("followers_count");
        Map<String, LongTask> tasks = new LinkedHashMap<>();
        tasks.put("livebuf", () -> Document.open(document).pointer("/statuses/50/user/followers_count").asLong());
        tasks.put("livebuf_keys",
            () -> Document.open(document).root().get(statuses).get(50).get(user).get(followers).asLong());
        tasks.put("livebuf_open_keys", () -> open.root().get(statuses).get(50).get(user).get(followers).asLong());
        Cursor cursor = open.cursor();
        tasks.put("livebuf_cursor", () -> cursor.root().get(statuses).get(50).get(user).get(followers).asLong());
        Value author = open.pointer("/statuses/50/user");
        tasks.put("livebuf_one_key", () -> author.get(followers).asLong());
        forms(tree).forEach((form, bytes) -> tasks.put(form + "_tree", () -> MAPPERS.get(form).readTree(bytes)
            .get("statuses").get(50).get("user").get("followers_count").longValue()));
        RawBsonDocument bson = bson(tree);
        tasks.put("raw_bson", () -> bson.getArray("statuses").get(50).asDocument().getDocument("user")
            .getNumber("followers_count").longValue());
        Map<String, Task> found = new LinkedHashMap<>();
        tasks.forEach((name, task) -> found.put(name, new Found(task)));
        return found;
    }

    /** Changes a number of tweet 50, and has the bytes afterwards. */
    static Map<String, Task> setField() {
        JsonNode tree = twitter();
        byte[] document = Livebuf.fromJson(in("jackson", tree));
        byte[] stored = document.clone();
        Editor kept = Editor.open(document.clone());
        int[] n = new int[1];
        Map<String, Task> tasks = new LinkedHashMap<>();
        tasks.put("livebuf", () -> {
            kept.set("/statuses/50/retweet_count", n[0]++ % 100);
            return kept.document();
        });
        tasks.put("livebuf_open", () -> {
            Editor edit = Editor.trust(stored);
            edit.set("/statuses/50/retweet_count", n[0]++ % 100);
            return edit.document();
        });
        tasks.put("livebuf_copy", () -> {
            Editor edit = Editor.trust(document.clone());
            edit.set("/statuses/50/retweet_count", n[0]++ % 100);
            return edit.document();
        });
        tasks.put("livebuf_validate", () -> {
            Editor edit = Editor.open(stored);
            edit.set("/statuses/50/retweet_count", n[0]++ % 100);
            return edit.document();
        });
        forms(tree).forEach((form, bytes) -> tasks.put(form + "_tree", () -> {
            JsonNode all = MAPPERS.get(form).readTree(bytes);
            ((ObjectNode) all.get("statuses").get(50)).put("retweet_count", n[0]++ % 100);
            return MAPPERS.get(form).writeValueAsBytes(all);
        }));
        RawBsonDocument bson = bson(tree);
        tasks.put("raw_bson", () -> {
            BsonDocument all = bson.decode(new BsonDocumentCodec());
            all.getArray("statuses").get(50).asDocument().put("retweet_count", new BsonInt32(n[0]++ % 100));
            return new RawBsonDocument(all, new BsonDocumentCodec());
        });
        return tasks;
    }

    /** A record as services have them. */
    public record User(long id, String name, String email, boolean active, double score, List<String> tags,
        Address address) {}

    /** It is within a user. */
    public record Address(String city, int zip) {}

    static List<User> users(int n) {
        String[] cities = {"Paris", "Rome", "Berlin"};
        return IntStream.range(0, n).mapToObj(i -> new User(i, "user " + i, "user" + i + "@example.org", i % 3 == 0,
            i / 8.0, List.of("a", "tag"), new Address(cities[i % 3], 10_000 + i % 500))).toList();
    }

    /** Makes records of stored bytes: one, as a message, or many, as an answer. */
    static Map<String, Task> toRecords(int n) {
        List<User> all = users(n);
        Map<String, Task> tasks = new LinkedHashMap<>();
        if (n == 1) {
            Mapper<User> mapper = Mapper.of(User.class);
            byte[] bytes = mapper.encode(all.get(0));
            tasks.put("livebuf", () -> mapper.decode(bytes));
        } else {
            Mapper<List<User>> mapper = Mapper.listOf(User.class);
            byte[] bytes = mapper.encode(all);
            tasks.put("livebuf", () -> mapper.decode(bytes));
        }
        MAPPERS.forEach((form, m) -> {
            byte[] bytes = in(form, n == 1 ? all.get(0) : all);
            var type = n == 1 ? m.constructType(User.class)
                : m.getTypeFactory().constructCollectionType(List.class, User.class);
            var reader = m.readerFor(type);
            tasks.put(form, () -> reader.readValue(bytes));
        });
        return tasks;
    }

    /** Makes bytes of records. */
    static Map<String, Task> ofRecords(int n) {
        List<User> all = users(n);
        Map<String, Task> tasks = new LinkedHashMap<>();
        if (n == 1) {
            Mapper<User> mapper = Mapper.of(User.class);
            tasks.put("livebuf", () -> mapper.encode(all.get(0)));
        } else {
            Mapper<List<User>> mapper = Mapper.listOf(User.class);
            tasks.put("livebuf", () -> mapper.encode(all));
        }
        Object value = n == 1 ? all.get(0) : all;
        MAPPERS.forEach((form, m) -> {
            var writer = m.writer();
            tasks.put(form, () -> writer.writeValueAsBytes(value));
        });
        return tasks;
    }

    /** A tweet as a program that needs some of it declares it. */
    public record Tweet(long id, String text, long retweet_count, Author user) {}

    /** Who wrote it. */
    public record Author(long id, String name, String description, long followers_count) {}

    /** Some fields of all tweets. */
    public record Tweets(List<Tweet> statuses) {}

    /** Makes records of some fields of stored bytes. */
    static Map<String, Task> toTweets() {
        JsonNode tree = twitter();
        byte[] document = Livebuf.fromJson(in("jackson", tree));
        Mapper<Tweets> mapper = Mapper.of(Tweets.class);
        Map<String, Task> tasks = new LinkedHashMap<>();
        tasks.put("livebuf", () -> mapper.decode(document));
        MAPPERS.forEach((form, m) -> {
            byte[] bytes = in(form, tree);
            var reader = m.readerFor(Tweets.class);
            tasks.put(form, () -> reader.readValue(bytes));
        });
        return tasks;
    }

    /** Looks at all bytes, and says that they are sound. */
    static Map<String, Task> validate() {
        JsonNode tree = twitter();
        byte[] document = Livebuf.fromJson(in("jackson", tree));
        Map<String, Task> tasks = new LinkedHashMap<>();
        Document open = Document.open(document);
        tasks.put("livebuf", open::validate);
        for (String form : TREES.subList(0, 4)) {
            byte[] bytes = in(form, tree);
            tasks.put(form, () -> {
                try (var p = MAPPERS.get(form).createParser(bytes)) {
                    p.nextToken();
                    p.skipChildren();
                    return p.currentToken();
                }
            });
        }
        return tasks;
    }

    /** Makes what can be edited or looked into of JSON text. */
    static Map<String, Task> readJson() {
        byte[] text = in("jackson", twitter());
        Map<String, Task> tasks = new LinkedHashMap<>();
        tasks.put("livebuf", () -> Livebuf.fromJson(text));
        tasks.put("jackson", () -> MAPPERS.get("jackson").readTree(text));
        return tasks;
    }
}
