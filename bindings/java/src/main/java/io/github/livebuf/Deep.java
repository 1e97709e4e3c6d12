package io.github.livebuf;

import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Runs walks that call themselves for each container within another one. Documents have up to 1,000 of them, for which
 * a thread's stack may be too small. So a walk stops at a lower depth, and begins again in a thread with a large stack.
 */
final class Deep {
    private Deep() {}

    private static final int SHALLOW = 100;
    private static final long STACK = 64 << 20;

    /** What stops a walk: it has no trace, since it is always caught. */
    private static final class Stop extends RuntimeException {
        private static final long serialVersionUID = 1;

        Stop() {
            super(null, null, false, false);
        }
    }

    /** Runs a walk, which is given how deep it may go. It may be run twice. */
    static <T extends @Nullable Object> T call(IntFunction<T> walk) {
        try {
            return walk.apply(SHALLOW);
        } catch (Stop e) {
            return callDeep(walk);
        }
    }

    /** Throws what a walk does at the depth that it was given. */
    static RuntimeException stop(int limit, long at) {
        return limit < Layout.MAX_NESTING ? new Stop() : LivebufException.at(ErrorKind.NESTING_LIMIT, at);
    }

    private static final class Task<T> implements Runnable {
        private final IntFunction<T> walk;
        private T result;
        private Throwable failure;

        Task(IntFunction<T> walk) {
            this.walk = walk;
        }

        @Override
        public void run() {
            try {
                result = walk.apply(Layout.MAX_NESTING);
            } catch (Throwable e) {
                failure = e;
            }
        }
    }

    /** What waits until something has ended. */
    interface Wait {
        void run() throws InterruptedException;
    }

    /** Waits to the end even if this thread is interrupted, and leaves it interrupted. */
    static void await(Wait wait) {
        boolean interrupted = false;
        for (;;) {
            try {
                wait.run();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static <T extends @Nullable Object> T callDeep(IntFunction<T> walk) {
        Task<T> task = new Task<>(walk);
        Thread thread = new Thread(null, task, "livebuf", STACK);
        thread.setDaemon(true);
        thread.start();
        await(thread::join);
        if (task.failure instanceof RuntimeException e) {
            throw e;
        }
        if (task.failure instanceof Error e) {
            throw e;
        }
        return task.result;
    }
}
