package io.github.livebuf;

import java.lang.foreign.MemorySegment;

/** What {@link Document} inherits from Java 22 on. */
abstract class Segments {
    Segments() {}

    /**
     * Opens a document with which a segment of memory begins; see {@link Document#open(byte[])}. It is read where it
     * is, which may be outside of Java's heap, as long as the segment's arena is open and for the threads that may read
     * it: what reads it later, or in another thread, is the exception that the segment itself throws then. A segment of
     * the heap must be one of a byte array.
     *
     * @throws LivebufException as {@link Document#open(byte[])}
     */
    public static Document open(MemorySegment segment) {
        // Bytes behind the document are no part of it, and a buffer has less than 2 GiB.
        return Document.open(segment.asSlice(0, Math.min(segment.byteSize(), Integer.MAX_VALUE)).asByteBuffer());
    }
}
