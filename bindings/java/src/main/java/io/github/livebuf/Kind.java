package io.github.livebuf;

/** What a value is. */
public enum Kind {
    /** There is no value. Null is one. */
    MISSING("missing"),
    /** Null. */
    NULL("null"),
    /** True or false. */
    BOOLEAN("a boolean"),
    /** An integer that a long holds. */
    INT("an integer"),
    /** An integer from 2⁶³ to 2⁶⁴ − 1. */
    UINT("an integer beyond long"),
    /** A float of 64 bits. */
    FLOAT("a float"),
    /** A number that is kept as its text, since no other kind holds it. */
    NUMBER_TEXT("a number's text"),
    /** A text. */
    TEXT("a text"),
    /** Bytes. */
    BYTES("a byte string"),
    /** A decimal number, with so many digits behind the point. */
    DECIMAL("a decimal"),
    /** A day of the calendar. */
    DATE("a date"),
    /** A time of day. */
    TIME("a time of day"),
    /** A date and time of a time zone that is not known. */
    DATE_TIME("a date and time"),
    /** A moment. */
    TIMESTAMP("a timestamp"),
    /** 128 bits that name something. */
    UUID("a UUID"),
    /** An object. */
    OBJECT("an object"),
    /** An array. */
    ARRAY("an array"),
    /** A value of a later version of the format: it can be copied, and nothing else. */
    RESERVED("a reserved value");

    private static final Kind[] BY_TAG = {
        MISSING, NULL, BOOLEAN, BOOLEAN, INT, UINT, FLOAT, DECIMAL, TIMESTAMP, DATE, TIME, DATE_TIME, RESERVED,
        RESERVED, RESERVED, RESERVED, TEXT, BYTES, NUMBER_TEXT, UUID, DECIMAL,
    };

    final String title;

    Kind(String title) {
        this.title = title;
    }

    /** The kind of a tag (FORMAT 3.2). */
    static Kind of(int tag) {
        if (tag < BY_TAG.length) {
            return BY_TAG[tag];
        }
        return tag == Layout.TAG_OBJECT ? OBJECT : tag == Layout.TAG_ARRAY ? ARRAY : RESERVED;
    }
}
