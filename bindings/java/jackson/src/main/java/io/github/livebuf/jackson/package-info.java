/** Jackson reads and writes LiveBuf documents by {@link io.github.livebuf.jackson.LivebufFactory}. */
@NullMarked
package io.github.livebuf.jackson;

import org.jspecify.annotations.NullMarked;
