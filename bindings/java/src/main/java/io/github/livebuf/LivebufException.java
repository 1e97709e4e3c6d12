package io.github.livebuf;

import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.Locale;
import java.util.Optional;

/**
 * The exception of this library. Damaged or hostile bytes lead to no other one. It is unchecked; which kinds a method
 * throws stands with the method.
 */
public final class LivebufException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final ErrorKind kind;
    private final long offset;
    private String path;
    private final String advice;
    private LogFault logFault; // null where it is not about a log

    private LivebufException(ErrorKind kind, long offset, String path, String advice, Throwable cause) {
        super(null, cause);
        this.kind = kind;
        this.offset = offset;
        this.path = path;
        this.advice = advice;
    }

    /** A fault in the bytes of a document. */
    static LivebufException at(ErrorKind kind, long offset) {
        return new LivebufException(kind, offset, "", kind.advice(), null);
    }

    /** A fault that has a place and an own text. */
    static LivebufException at(ErrorKind kind, long offset, String advice, Object... args) {
        return new LivebufException(kind, offset, "", format(advice, args), null);
    }

    /** An error that has no place in a document. */
    static LivebufException of(ErrorKind kind) {
        return at(kind, -1);
    }

    /** An error that has no place in a document. */
    static LivebufException of(ErrorKind kind, String advice, Object... args) {
        return at(kind, -1, advice, args);
    }

    /** A fault in the bytes of a log. */
    static LivebufException log(LogFault fault, long offset, String advice, Object... args) {
        LivebufException e = at(ErrorKind.BAD_LOG, offset, advice, args);
        e.logFault = fault;
        return e;
    }

    /** What the operating system said. Of some exceptions the message is the name of the file alone. */
    static LivebufException io(Exception cause) {
        boolean isName = cause instanceof FileSystemException x && x.getReason() == null;
        String text = cause.getMessage() + (!isName ? "" : cause instanceof NoSuchFileException
            ? ": there is no such file" : cause instanceof FileAlreadyExistsException
            ? ": there is such a file already" : ": this is a " + cause.getClass().getSimpleName());
        return new LivebufException(ErrorKind.IO, -1, "", text, cause);
    }

    private static String format(String advice, Object[] args) {
        return args.length == 0 ? advice : String.format(Locale.ROOT, advice, args);
    }

    /** Says which value the error is about, and returns the error. */
    LivebufException withPath(String pointer) {
        path = pointer;
        return this;
    }

    /** What is wrong. */
    public ErrorKind kind() {
        return kind;
    }

    /** What is wrong with a log, in an exception of kind BAD_LOG. */
    public Optional<LogFault> logFault() {
        return Optional.ofNullable(logFault);
    }

    /** The byte of the document, or of the text that was read, where it was found; -1 where there is none. */
    public long offset() {
        return offset;
    }

    /** A JSON pointer to the value that it is about; empty where none is known, and for the root. */
    public String path() {
        return path;
    }

    /** What is wrong and what to do, without the offset and the path. The text may change. */
    public String advice() {
        return advice;
    }

    /** The advice, with the place that it is about. The middle of a long path is left out. */
    @Override
    public String getMessage() {
        int n = path.length();
        String shown = n <= 300 ? path : path.substring(0, 200) + "…" + path.substring(n - 100);
        String text = path.isEmpty() ? advice : advice + " (at " + shown + ")";
        return offset < 0 ? text : text + " (" + kind.title() + " at byte " + offset + ")";
    }
}
