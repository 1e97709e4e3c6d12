package io.github.livebuf.bench;

import io.github.livebuf.Document;
import io.github.livebuf.Livebuf;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * Compares the answers of all peers, measures them, and prints a table. Its last column is the time of livebuf as a
 * part of the other's: 0.01 means a hundredth. Arguments are those of JMH; one without a hyphen, such as {@code OneField} or
 * {@code OneField/livebuf}, names what is measured.
 */
public final class Main {
    private Main() {}

    static final Map<String, Supplier<Map<String, Peers.Task>>> TASKS = new LinkedHashMap<>();

    static {
        TASKS.put("OneField", Peers::oneField);
        TASKS.put("SetField", Peers::setField);
        TASKS.put("ToRecords1", () -> Peers.toRecords(1));
        TASKS.put("ToRecords100", () -> Peers.toRecords(100));
        TASKS.put("ToRecords10000", () -> Peers.toRecords(10_000));
        TASKS.put("ToTweets", Peers::toTweets);
        TASKS.put("OfRecords1", () -> Peers.ofRecords(1));
        TASKS.put("OfRecords100", () -> Peers.ofRecords(100));
        TASKS.put("OfRecords10000", () -> Peers.ofRecords(10_000));
        TASKS.put("Validate", Peers::validate);
        TASKS.put("ReadJson", Peers::readJson);
    }

    public static void main(String[] args) throws Exception {
        List<String> wanted = new ArrayList<>();
        List<String> options = new ArrayList<>();
        for (String arg : args) {
            boolean isName = TASKS.keySet().stream().anyMatch(name -> arg.split("/")[0].equals(name));
            (isName ? wanted : options).add(arg);
        }
        List<String> all = new ArrayList<>();
        for (var task : TASKS.entrySet()) {
            List<String> names = task.getValue().get().keySet().stream().map(peer -> task.getKey() + "/" + peer)
                .filter(name -> wanted.isEmpty() || wanted.contains(task.getKey()) || wanted.contains(name)).toList();
            if (!names.isEmpty()) {
                checkAnswers(task.getKey(), task.getValue().get());
            }
            all.addAll(names);
        }
        System.out.println("all answers are equal; measuring " + all.size() + " tasks");
        var run = new OptionsBuilder().parent(new CommandLineOptions(options.toArray(new String[0])))
            .include(Bench.class.getName()).param("task", all.toArray(new String[0])).addProfiler(GCProfiler.class);
        print(new Runner(run.build()).run());
    }

    // --- answers

    private static void checkAnswers(String task, Map<String, Peers.Task> peers) throws Exception {
        Function<Object, Object> answer = task.startsWith("To") || task.equals("OneField") ? x -> x
            : task.equals("Validate") ? x -> true : null;
        Object want = null;
        for (var peer : peers.entrySet()) {
            Object got = peer.getValue().run();
            // What is written is read again.
            got = answer != null ? answer.apply(got) : readBack(task, peer.getKey(), got);
            want = want == null ? got : want;
            if (!Objects.equals(want, got)) {
                throw new IllegalStateException(task + ": " + peer.getKey() + " gives another answer");
            }
        }
    }

    private static Object readBack(String task, String peer, Object got) throws Exception {
        String form = peer.replace("_tree", "");
        if (task.equals("SetField")) { // each call sets another number
            return got instanceof org.bson.BsonDocument b ? b.getArray("statuses").size()
                : got instanceof Document d ? d.validate().root().get("statuses").size()
                : Peers.MAPPERS.get(form).readTree((byte[]) got).get("statuses").size();
        }
        var json = Peers.MAPPERS.get("jackson");
        if (task.equals("ReadJson")) {
            return got instanceof byte[] b ? json.readTree(Document.open(b).toJson()) : got;
        }
        byte[] bytes = (byte[]) got;
        return form.equals("livebuf") ? json.readTree(Document.open(bytes).validate().toJson())
            : json.readTree(json.writeValueAsBytes(Peers.MAPPERS.get(form).readTree(bytes)));
    }

    // --- the table

    private static void print(Collection<RunResult> results) {
        Map<String, double[]> found = new LinkedHashMap<>();
        for (RunResult r : results) {
            double allocated = 0;
            for (var each : r.getSecondaryResults().entrySet()) {
                Result<?> x = each.getValue();
                allocated = each.getKey().endsWith("gc.alloc.rate.norm") ? x.getStatistics().getMin() : allocated;
            }
            // Of several runs the fastest one was disturbed least.
            found.put(r.getParams().getParam("task"),
                new double[] {r.getPrimaryResult().getStatistics().getMin(), allocated});
        }
        System.out.printf("%n%-15s %-18s %14s %12s %10s%n", "task", "by", "ns", "bytes made", "livebuf /");
        found.forEach((name, x) -> {
            String[] names = name.split("/");
            double[] ours = found.get(names[0] + "/livebuf");
            System.out.printf("%-15s %-18s %14.1f %12.0f %10s%n", names[0], names[1], x[0], x[1],
                ours == null ? "" : String.format("%.3g", ours[0] / x[0]));
        });
        double[] validate = found.get("Validate/livebuf");
        if (validate != null) {
            int size = Livebuf.fromJson(Peers.in("jackson", Peers.twitter())).length;
            System.out.printf("validation of twitter.json's document: %d bytes, %.2f GB/s%n", size, size / validate[0]);
        }
    }
}
