package io.github.livebuf.bench;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** A task of a peer, in a process of its own. {@link Main} says which ones there are. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 4, time = 1)
@Measurement(iterations = 6, time = 1)
public class Bench {
    /** What is done and who does it, as {@code OneField/livebuf}. */
    @Param("OneField/livebuf")
    public String task;

    private Peers.Task todo;

    @Setup
    public void prepare() {
        String[] names = task.split("/");
        Map<String, Peers.Task> peers = Main.TASKS.get(names[0]).get();
        todo = peers.get(names[1]);
    }

    @Benchmark
    public Object once() throws Exception {
        return todo.run();
    }
}
