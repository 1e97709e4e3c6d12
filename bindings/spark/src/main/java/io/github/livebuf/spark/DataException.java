package io.github.livebuf.spark;

import java.util.function.Supplier;

import io.github.livebuf.ErrorKind;
import io.github.livebuf.LivebufException;

/** What is wrong with a file, a row or a document of a column, where it is and what to do. */
public final class DataException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final boolean wrongType;

    private DataException(String message, boolean wrongType, Throwable cause) {
        super(message, cause);
        this.wrongType = wrongType;
    }

    /** A fault of a place: a file, with a row and a column where these are known, or a function of SQL. */
    static DataException at(String place, LivebufException cause) {
        return new DataException(place + ": " + cause.getMessage(), cause.kind() == ErrorKind.WRONG_TYPE, cause);
    }

    /** A value that is sound and is not what the schema says. */
    static DataException wrong(String place, String what) {
        return new DataException(place + ": " + what, true, null);
    }

    /** A fault that LiveBuf's own methods do not see. */
    static DataException damaged(String place, String what) {
        return new DataException(place + ": " + what, false, null);
    }

    /** What some work at a place gives. */
    static <T> T in(String place, Supplier<T> work) {
        try {
            return work.get();
        } catch (LivebufException e) {
            throw at(place, e);
        }
    }

    /** Whether the bytes are sound, and a value is not of the type that the schema says. */
    public boolean isWrongType() {
        return wrongType;
    }
}
