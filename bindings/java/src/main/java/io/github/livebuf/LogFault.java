package io.github.livebuf;

/** What is wrong with a log (LOG 6), in an exception of kind {@link ErrorKind#BAD_LOG}. */
public enum LogFault {
    /** Other bytes than those of a log, or its header is damaged. */
    NOT_A_LOG("NotALog"),
    /** A newer version of this library may read it, or write it. */
    UNSUPPORTED("Unsupported"),
    /** The file ends before bytes that were on the disk once. */
    CUT_SHORT("CutShort"),
    /** Bytes are damaged that were on the disk once. */
    DAMAGED("Damaged"),
    /** The log was removed while it was open, or another file has its name. */
    REPLACED("Replaced"),
    /** A sync failed, so that nobody knows what is on the disk. */
    BROKEN("Broken");

    private final String title;

    LogFault(String title) {
        this.title = title;
    }

    /** The fault's name, such as {@code "CutShort"}, which is the same in every language. */
    public String title() {
        return title;
    }
}
