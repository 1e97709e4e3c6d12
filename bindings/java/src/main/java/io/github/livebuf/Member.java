package io.github.livebuf;

/**
 * A member of an object.
 *
 * @param key its key
 * @param value its value, which is never missing
 */
public record Member(String key, Value value) {}
