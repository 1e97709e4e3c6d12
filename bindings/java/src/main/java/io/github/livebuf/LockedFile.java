package io.github.livebuf;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

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
    private Path path;
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
        LockedFile file = take(path, TRIES);
        if (file == null) {
            throw LivebufException.of(ErrorKind.IO, "the file is locked: it is open elsewhere for writing");
        }
        return file;
    }

    /** The same; null if another one has the lock all the time. */
    private static LockedFile take(Path path, int most) throws IOException {
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
            if (tries == most) {
                return null;
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

    // --- new files beside others

    private static final String PREFIX = ".livebuf-";
    private static final String SUFFIX = ".tmp";
    private static final AtomicInteger COUNT = new AtomicInteger();

    /** Makes an empty file beside another one, with its rights, and locks it. The caller renames or removes it. */
    static LockedFile beside(Path old) throws IOException {
        for (;;) {
            Path name = old.resolveSibling(PREFIX + ProcessHandle.current().pid() + "-j" + COUNT.getAndIncrement()
                + SUFFIX);
            try {
                // Those who may not read the old file must not read this one meanwhile.
                Files.createFile(name,
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            } catch (FileAlreadyExistsException e) {
                continue; // it is of a process that died and had the same number
            }
            LockedFile file = null;
            try {
                file = take(name, 0); // whoever takes it for an abandoned one has removed it otherwise
                if (file != null) {
                    takeAfter(name, old);
                    return file;
                }
            } catch (NoSuchFileException e) {
                continue;
            } catch (IOException | RuntimeException e) {
                Files.deleteIfExists(name);
                if (file != null) {
                    file.close();
                }
                throw e;
            }
        }
    }

    /** Gives a file the owner, the group and the rights of another one, as far as the system allows it. */
    private static void takeAfter(Path file, Path old) throws IOException {
        PosixFileAttributeView view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
        PosixFileAttributes ours = view.readAttributes();
        PosixFileAttributes wanted = Files.readAttributes(old, PosixFileAttributes.class);
        Set<PosixFilePermission> rights = EnumSet.noneOf(PosixFilePermission.class);
        rights.addAll(wanted.permissions());
        try {
            if (!wanted.owner().equals(ours.owner())) {
                view.setOwner(wanted.owner());
            }
        } catch (IOException e) {
            // Only root may give files to others: this one is the user's then.
        }
        try {
            if (!wanted.group().equals(ours.group())) {
                view.setGroup(wanted.group());
            }
        } catch (IOException e) {
            // Whoever had rights as a member of the old group has those of all others.
            same(rights, PosixFilePermission.OTHERS_READ, PosixFilePermission.GROUP_READ);
            same(rights, PosixFilePermission.OTHERS_WRITE, PosixFilePermission.GROUP_WRITE);
            same(rights, PosixFilePermission.OTHERS_EXECUTE, PosixFilePermission.GROUP_EXECUTE);
        }
        view.setPermissions(rights);
    }

    private static void same(Set<PosixFilePermission> rights, PosixFilePermission as, PosixFilePermission right) {
        if (rights.contains(as)) {
            rights.add(right);
        } else {
            rights.remove(right);
        }
    }

    /** Removes the new files in a file's directory whose process was killed. What cannot be removed stays. */
    static void removeAbandoned(Path path) {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(path.toAbsolutePath().getParent(),
            PREFIX + "*" + SUFFIX)) {
            for (Path each : all) {
                if (!Files.isRegularFile(each, LinkOption.NOFOLLOW_LINKS)) {
                    continue;
                }
                // Whoever works on it holds its lock, and so do we until it is gone.
                try (LockedFile file = take(each, 0)) {
                    if (file != null) {
                        Files.deleteIfExists(each);
                    }
                } catch (IOException | LivebufException e) {
                    // It stays.
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            // They stay.
        }
    }

    /** Gives the file another name, in place of the file that has it. */
    void rename(Path to) throws IOException {
        Files.move(path, to, StandardCopyOption.ATOMIC_MOVE);
        path = to;
    }

    /** Removes the file while it is locked, and closes it. */
    void remove() throws IOException {
        try (this) {
            Files.deleteIfExists(path);
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
