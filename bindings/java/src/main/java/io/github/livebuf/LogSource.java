package io.github.livebuf;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Arrays;

/** The bytes of a log: a file, an array, or what is elsewhere and is read in parts. */
public interface LogSource {
    /** How many bytes there are. */
    long size();

    /** At most so many bytes from an offset on; fewer only where the bytes end. */
    byte[] read(long offset, int count);

    /** The bytes of an array. */
    static LogSource of(byte[] bytes) {
        return new LogSource() {
            @Override
            public long size() {
                return bytes.length;
            }

            @Override
            public byte[] read(long offset, int count) {
                if (offset < 0 || offset >= bytes.length) {
                    return new byte[0];
                }
                return Arrays.copyOfRange(bytes, (int) offset, (int) Math.min(bytes.length, offset + count));
            }
        };
    }

    /** The bytes of a file. What the system says is an exception of kind IO. */
    static LogSource of(FileChannel file) {
        return new LogSource() {
            @Override
            public long size() {
                try {
                    return file.size();
                } catch (IOException e) {
                    throw LivebufException.io(e);
                }
            }

            @Override
            public byte[] read(long offset, int count) {
                try {
                    long left = offset < 0 ? 0 : file.size() - offset;
                    ByteBuffer b = ByteBuffer.allocate((int) Math.max(Math.min(left, count), 0));
                    while (b.hasRemaining() && file.read(b, offset + b.position()) > 0) {
                        // goes on
                    }
                    return Arrays.copyOf(b.array(), b.position());
                } catch (IOException e) {
                    throw LivebufException.io(e);
                }
            }
        };
    }
}
