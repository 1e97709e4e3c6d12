package io.github.livebuf;

import org.jspecify.annotations.Nullable;

/**
 * Makes documents of JSON and of values of Java. Their bytes are those of the profile livebuf-1 (docs/PROFILE.md),
 * which are the same in every language.
 */
public final class Livebuf {
    private Livebuf() {}

    /**
     * Encodes JSON (RFC 8259, in UTF-8) as a document, exactly: integers of 64 bits, and numbers that no double holds,
     * keep their digits (FORMAT 13.1). A byte order mark is passed over. It takes O(length).
     *
     * @return the bytes of the document
     * @throws LivebufException with the byte in the text, and a message that has the line and the column. It is of kind
     *     BAD_JSON, NESTING_LIMIT (more than 1,000 containers within each other), DUPLICATE_KEY (where the options
     *     refuse them), DOCUMENT_LIMIT (2 GiB) or STRING_LIMIT
     */
    public static byte[] fromJson(byte[] text, Option... options) {
        return Encoder.runAgain(options, e -> JsonReader.read(e, text));
    }

    /** The same for a string. Half of a surrogate pair in it is an error of kind BAD_TEXT, but with REPLACE. */
    public static byte[] fromJson(String text, Option... options) {
        return Encoder.runAgain(options, e -> JsonReader.read(e, e.utf8Copy(text)));
    }

    /**
     * Encodes a value of Java as a document. It takes O(size of the value).
     *
     * <p>Booleans, numbers and texts: as they are, so an integer stays an integer and a float a float. A BigInteger of
     * more than 64 bits is kept as its digits. BigDecimal: a decimal, or a number of JSON if it has more than 38
     * digits. byte[] and ByteBuffer: bytes. UUID, LocalDate, LocalTime, LocalDateTime: what they are, and Instant,
     * OffsetDateTime and ZonedDateTime: timestamps; times are cut to microseconds. Duration and URI: texts. Arrays,
     * collections and other Iterables: arrays, of which similar objects become columns. Maps: objects, in the order of
     * the map; their keys are texts, or numbers, booleans, dates, UUIDs or constants of enumerations, which are texts
     * by their names. {@link Value}, {@link Document}, {@link Handle} and {@link NumberText}: what they are. Optional,
     * OptionalInt and the like: their value. Null: null. Records and other classes: objects of their members; see
     * {@link Mapper}.
     *
     * @param value the value, which may be null
     * @return the bytes of the document
     * @throws LivebufException with the path to the value. It is of kind BAD_VALUE (types that have no place in a
     *     document, times beyond the years 1 to 9999), STALE_HANDLE (a Value of an editor from before its last edit, or
     *     a Handle of a value that is no more), BAD_TEXT (half of a surrogate pair), NESTING_LIMIT (more than 1,000
     *     containers within each other, also where a value holds itself), DOCUMENT_LIMIT (2 GiB) or STRING_LIMIT
     */
    public static byte[] encode(@Nullable Object value, Option... options) {
        return Encoder.runAgain(options, e -> Mapper.any(e, value));
    }

    /**
     * A value as values of Java: null, Boolean, Long, BigInteger (of integers beyond long), Double, {@link NumberText},
     * String, byte[], BigDecimal, LocalDate, LocalTime, LocalDateTime, Instant, UUID, List and Map, in the order of the
     * members. All are copies, and may be changed.
     *
     * @return the value, which is null for null
     * @throws LivebufException of kind NOT_FOUND if the value is missing, of kind BUDGET_EXCEEDED if a small document
     *     stands for very many values (beyond eight for each byte and a million), or the kind of damage
     */
    public static @Nullable Object toObject(Value value) {
        return Decoder.run(value, Decoder::plain);
    }
}
