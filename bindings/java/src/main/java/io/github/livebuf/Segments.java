package io.github.livebuf;

/**
 * What {@link Document} inherits: nothing here. From Java 22 on, the class of this name in src/main/java22 takes its
 * place, which opens segments of memory.
 */
abstract class Segments {
    Segments() {}
}
