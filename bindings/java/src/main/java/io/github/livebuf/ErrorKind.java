package io.github.livebuf;

/**
 * What went wrong. The kinds, their numbers and their names are those of every other language of LiveBuf.
 *
 * <p>1 to 3: the bytes are no document that this version reads. 4 to 16: they are damaged. 17 to 21: a limit was
 * reached. The others: the call does not fit the value.
 */
public enum ErrorKind {
    /** These bytes are no LiveBuf document: convert JSON first. */
    NOT_A_DOCUMENT(1, "NotADocument", "these bytes are no LiveBuf document: convert JSON first"),
    /** The document is of a version that this library does not read. */
    UNSUPPORTED_VERSION(2, "UnsupportedVersion", "the document is of a version that this library does not read"),
    /** The document needs a newer version of this library. */
    UNSUPPORTED_FEATURE(3, "UnsupportedFeature", "the document needs a newer version of this library"),
    /** The document is cut short. */
    TRUNCATED(4, "Truncated", "the document is cut short"),
    /** An offset or a length leads beyond the document. */
    OUT_OF_BOUNDS(5, "OutOfBounds", "an offset or a length leads beyond the document"),
    /** An offset is no multiple of 8. */
    MISALIGNED(6, "Misaligned", "an offset is no multiple of 8"),
    /** A reference leads to a block of another kind. */
    WRONG_BLOCK(7, "WrongBlock", "a reference leads to a block of another kind"),
    /** A code or a tag is undefined, or not allowed here. */
    BAD_CODE(8, "BadCode", "a code or a tag is undefined, or not allowed here"),
    /** Counts contradict each other. */
    BAD_COUNT(9, "BadCount", "counts contradict each other"),
    /** A text is not UTF-8. */
    BAD_TEXT(10, "BadText", "a text is not UTF-8"),
    /** A cell holds bits that its tag does not allow. */
    BAD_CELL(11, "BadCell", "a cell holds bits that its tag does not allow"),
    /** Two blocks overlap, or one is reached twice. */
    OVERLAP(12, "Overlap", "two blocks overlap, or one is reached twice"),
    /** An index does not lead to its entries. */
    BAD_INDEX(13, "BadIndex", "an index does not lead to its entries"),
    /** A key occurs twice in one object. */
    DUPLICATE_KEY(14, "DuplicateKey", "a key occurs twice in one object"),
    /** The list of free space is damaged. */
    BAD_FREE_LIST(15, "BadFreeList", "the list of free space is damaged"),
    /** Bytes that must be 0 are not. */
    NOT_ZERO(16, "NotZero", "bytes that must be 0 are not"),
    /** The document stands for more than is allowed: set a higher limit. */
    BUDGET_EXCEEDED(17, "BudgetExceeded", "the document stands for more than is allowed: set a higher limit"),
    /** Values are nested too deeply. */
    NESTING_LIMIT(18, "NestingLimit", "values are nested too deeply"),
    /** The document would be too long. */
    DOCUMENT_LIMIT(19, "DocumentLimit", "the document would be too long"),
    /** A text is too long. */
    STRING_LIMIT(20, "StringLimit", "a text is too long"),
    /** An array or an object would have too many elements. */
    ELEMENT_LIMIT(21, "ElementLimit", "an array or an object would have too many elements"),
    /** The value was removed or replaced: look it up again. */
    STALE_HANDLE(23, "StaleHandle", "the value was removed or replaced: look it up again"),
    /** The value is of another type. */
    WRONG_TYPE(24, "WrongType", "the value is of another type"),
    /** There is no such value. */
    NOT_FOUND(25, "NotFound", "there is no such value"),
    /** The array has no such element. */
    INDEX_OUT_OF_RANGE(26, "IndexOutOfRange", "the array has no such element"),
    /** The object has this key already. */
    KEY_EXISTS(27, "KeyExists", "the object has this key already"),
    /** The document cannot be written. */
    READ_ONLY(28, "ReadOnly", "the document cannot be written"),
    /** A JSON pointer is empty or begins with /, and has ~0 for ~ and ~1 for /. */
    BAD_POINTER(29, "BadPointer", "a JSON pointer is empty or begins with /, and has ~0 for ~ and ~1 for /"),
    /** This is no number of JSON. */
    BAD_NUMBER(30, "BadNumber", "this is no number of JSON"),
    /** The operating system refused. */
    IO(32, "Io", "the operating system refused"),
    /** This cannot be expressed. */
    UNSUPPORTED(33, "Unsupported", "this cannot be expressed"),
    /** Validate the document first. */
    NOT_VALIDATED(36, "NotValidated", "validate the document first"),
    /** An edit ended half way: go back to a copy. */
    BROKEN(37, "Broken", "an edit ended half way: go back to a copy"),
    /** This is no date, time, decimal or UUID. */
    BAD_VALUE(38, "BadValue", "this is no date, time, decimal or UUID"),
    /** A tensor keeps its type and the lengths of its elements. */
    TENSOR_MISMATCH(39, "TensorMismatch", "a tensor keeps its type and the lengths of its elements"),
    /** This is no JSON. */
    BAD_JSON(64, "BadJson", "this is no JSON"),
    /** These bytes are no delta. */
    NOT_A_DELTA(72, "NotADelta", "these bytes are no delta"),
    /** The delta is damaged. */
    BAD_DELTA(73, "BadDelta", "the delta is damaged"),
    /** The document has no state, from which deltas lead on. */
    NO_STATE(74, "NoState", "the document has no state, from which deltas lead on"),
    /** The delta begins at another state. */
    WRONG_STATE(75, "WrongState", "the delta begins at another state"),
    /** The document has not the bytes that the delta was made of. */
    WRONG_BYTES(76, "WrongBytes", "the document has not the bytes that the delta was made of"),
    /** The delta has no digest to compare with. */
    NO_DIGEST(77, "NoDigest", "the delta has no digest to compare with"),
    /** The delta was made without old bytes, so it cannot be inverted. */
    NO_OLD_BYTES(78, "NoOldBytes", "the delta was made without old bytes, so it cannot be inverted"),
    /** The log is damaged. */
    BAD_LOG(80, "BadLog", "the log is damaged");

    private final int number;
    private final String title;
    private final String advice;

    ErrorKind(int number, String title, String advice) {
        this.number = number;
        this.title = title;
        this.advice = advice;
    }

    /** The kind's number, which is the same in every language. */
    public int number() {
        return number;
    }

    /** The kind's name, such as {@code "BadCount"}, which is the same in every language. */
    public String title() {
        return title;
    }

    /** What the kind means where nothing more is known. */
    String advice() {
        return advice;
    }
}
