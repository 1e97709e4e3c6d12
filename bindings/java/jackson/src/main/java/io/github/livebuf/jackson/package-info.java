/** Jackson reads and writes LiveBuf documents by {@link io.github.livebuf.jackson.LivebufFactory}. */
package io.github.livebuf.jackson;
