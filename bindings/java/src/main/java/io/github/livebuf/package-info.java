/**
 * JSON-compatible documents that are read without parsing and edited in place. {@link io.github.livebuf.Document} reads
 * one, {@link io.github.livebuf.Editor} changes one, and {@link io.github.livebuf.Livebuf} and
 * {@link io.github.livebuf.Mapper} make one.
 *
 * <p>No parameter and no result is null, unless it is marked by {@code @Nullable}.
 */
@NullMarked
package io.github.livebuf;

import org.jspecify.annotations.NullMarked;
