package io.github.livebuf;

/** How values become a document. */
public enum Option {
    /**
     * Makes no columns of arrays of similar objects, and of arrays of arrays. Such documents are larger, and no column
     * of them is read at once.
     */
    NO_TABLES,
    /** Stores texts that are dates, dates and times (RFC 3339) or UUIDs as such values (PROFILE 8). */
    RECOGNIZE,
    /** Puts U+FFFD for half of a surrogate pair in JSON and in strings. It is an error otherwise. */
    REPLACE,
    /**
     * Makes an error of a key that comes twice in an object. Its last value counts otherwise, at the place of the
     * first.
     */
    REFUSE_DUPLICATES
}
