package io.github.livebuf;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Locale;

/**
 * A file that is open for writing, and its exclusive lock, the flock that programs of all languages take (LOG 7).
 *
 * <p>Java itself only has the locks of POSIX. On macOS and the BSDs the two exclude each other. On Linux they do not:
 * there the program flock, of util-linux or BusyBox, takes the lock, and holds it for as long as this process has a
 * pipe to it. So the lock ends with this process, however it ends.
 */
final class LockedFile implements AutoCloseable {
    private static final int TRIES = 10; // a lock that was given back may last for a moment

    final FileChannel channel;
    private final Path path;
    private final Object key; // names the file, whatever its path
    private final Process holder; // null where the channel has the lock

    private LockedFile(FileChannel channel, Path path, Object key, Process holder) {
        this.channel = channel;
        this.path = path;
        this.key = key;
        this.holder = holder;
    }

    private static Object keyOf(Path path) throws IOException {
        BasicFileAttributes file = Files.readAttributes(path, BasicFileAttributes.class);
        if (!file.isRegularFile()) {
            throw new IOException(path + ": this is no regular file"); // others could make who opens them wait
        }
        return file.fileKey();
    }

    /** Opens a file and takes its lock: of the file that still has the name once it is locked. */
    static LockedFile take(Path path) throws IOException {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        boolean isLinux = system.contains("linux");
        if (!isLinux && !system.contains("mac") && !system.contains("bsd")) {
            throw LivebufException.of(ErrorKind.UNSUPPORTED,
                "this system has no flock, without which no log is written");
        }
        for (int tries = 0;; tries++) {
            Object key = keyOf(path);
            Process holder = isLinux ? hold(path) : null;
            FileChannel channel = null;
            boolean isLocked = false;
            try {
                if (!isLinux || holder != null) {
                    channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
                    boolean has = isLinux || channel.tryLock() != null;
                    isLocked = has && key.equals(keyOf(path));
                    if (isLocked) {
                        return new LockedFile(channel, path, key, holder);
                    }
                }
            } catch (OverlappingFileLockException e) {
                // Another part of this program has it.
            } finally {
                if (!isLocked) {
                    release(channel, holder);
                }
            }
            if (tries == TRIES) {
                throw LivebufException.of(ErrorKind.IO, "the file is locked: it is open elsewhere for writing");
            }
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw LivebufException.of(ErrorKind.IO, "interrupted while waiting for the file's lock");
            }
        }
    }

    /** A process that holds the lock until its input ends; null if another one has the lock. */
    private static Process hold(Path path) throws IOException {
        Process holder;
        try {
            // What is typed to end this process is not for that one: the lock ends last.
            holder = new ProcessBuilder("flock", "-x", "-n", path.toAbsolutePath().toString(), "sh", "-c",
                "trap '' INT; echo; exec cat >/dev/null").redirectError(ProcessBuilder.Redirect.DISCARD).start();
        } catch (IOException e) {
            throw LivebufException.of(ErrorKind.UNSUPPORTED,
                "logs are written with the help of the program flock (of util-linux), which is not here");
        }
        if (holder.getInputStream().read() == '\n') {
            return holder;
        }
        release(null, holder);
        return null;
    }

    private static void release(FileChannel channel, Process holder) throws IOException {
        if (channel != null) {
            channel.close();
        }
        if (holder != null) {
            holder.getOutputStream().close();
            Deep.await(holder::waitFor);
        }
    }

    /** Whether nobody took the lock away. */
    boolean isHeld() {
        return holder == null || holder.isAlive();
    }

    /** Whether the file still has its name. */
    boolean hasName() throws IOException {
        try {
            return key.equals(keyOf(path));
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /** Waits until the names in a file's directory are on the disk. */
    static void syncDirectoryOf(Path path) throws IOException {
        Path directory = path.toAbsolutePath().getParent();
        if (Files.isReadable(directory)) { // without that right one cannot wait for it
            try (FileChannel names = FileChannel.open(directory, StandardOpenOption.READ)) {
                names.force(true);
            }
        }
    }

    @Override
    public void close() throws IOException {
        release(channel, holder);
    }
}
