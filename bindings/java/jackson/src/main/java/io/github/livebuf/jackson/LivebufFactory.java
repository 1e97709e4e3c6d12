package io.github.livebuf.jackson;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.Version;
import com.fasterxml.jackson.core.format.InputAccessor;
import com.fasterxml.jackson.core.format.MatchStrength;
import com.fasterxml.jackson.core.io.IOContext;
import io.github.livebuf.Document;
import io.github.livebuf.LivebufException;
import io.github.livebuf.Option;
import io.github.livebuf.Value;
import java.io.DataInput;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.Writer;
import java.nio.ByteBuffer;

/**
 * Lets Jackson read and write LiveBuf documents where it would read and write JSON:
 *
 * <pre>{@code
 * ObjectMapper mapper = new ObjectMapper(new LivebufFactory());
 * byte[] document = mapper.writeValueAsBytes(user);
 * User again = mapper.readValue(document, User.class);
 * }</pre>
 *
 * <p>No JSON is made in between. Members that the wanted class does not have are passed over without a look at them.
 * {@link #createParser(Value)} reads a part of a document.
 *
 * <p>Numbers are exact: a BigDecimal becomes a decimal, or the text of a number where it has more than 38 digits, and
 * is a BigDecimal again. Byte arrays become bytes. Dates, times and UUIDs of a document are texts to Jackson. Those of
 * Java are written as Jackson's modules write them, mostly as texts: {@link Option#RECOGNIZE} stores these as dates, times
 * and UUIDs.
 *
 * <p>A document has one value, and is written when that is whole. Since its bytes are no characters, there are no
 * parsers of strings and readers, and no generators for writers.
 */
public final class LivebufFactory extends JsonFactory {
    private static final long serialVersionUID = 1;

    static final Version VERSION = new Version(0, 1, 0, null, "io.github.livebuf", "livebuf-jackson");
    private static final byte[] MAGIC = {(byte) 0xab, 'L', 'B', 'F'};

    /** How documents are written. */
    private final Option[] options;

    /** A factory whose documents are laid out as usual. */
    public LivebufFactory() {
        this(new Option[0]);
    }

    /** A factory with options for the documents that are written. */
    public LivebufFactory(Option... options) {
        this.options = options.clone();
    }

    private LivebufFactory(LivebufFactory other) {
        super(other, other.getCodec());
        options = other.options;
    }

    @Override
    public LivebufFactory copy() {
        return new LivebufFactory(this);
    }

    /** What a factory becomes that was serialized: it has new tables. */
    @Override
    protected Object readResolve() {
        return new LivebufFactory(this);
    }

    @Override
    public Version version() {
        return VERSION;
    }

    @Override
    public String getFormatName() {
        return "LiveBuf";
    }

    @Override
    public MatchStrength hasFormat(InputAccessor bytes) throws IOException {
        for (byte b : MAGIC) {
            if (!bytes.hasMoreBytes()) {
                return MatchStrength.INCONCLUSIVE;
            }
            if (bytes.nextByte() != b) {
                return MatchStrength.NO_MATCH;
            }
        }
        return MatchStrength.FULL_MATCH;
    }

    @Override
    public boolean canUseCharArrays() {
        return false;
    }

    @Override
    public boolean canHandleBinaryNatively() {
        return true;
    }

    // --- parsers

    /** A parser over a value of a document that is open, and what it holds. */
    public JsonParser createParser(Value value) throws IOException {
        IOContext context = _createContext(_createContentReference(value), false);
        try {
            return new LivebufParser(context, _parserFeatures, getCodec(), value, null);
        } catch (LivebufException e) {
            throw LivebufParser.wrong(null, context, e);
        }
    }

    private JsonParser parser(ByteBuffer bytes, InputStream in, IOContext context) throws JsonParseException {
        try {
            return new LivebufParser(context, _parserFeatures, getCodec(), Document.open(bytes).root(), in);
        } catch (LivebufException e) {
            throw LivebufParser.wrong(null, context, e);
        }
    }

    @Override
    protected JsonParser _createParser(byte[] data, int offset, int length, IOContext context) throws IOException {
        return parser(ByteBuffer.wrap(data, offset, length), null, context);
    }

    /** Reads the whole stream first. */
    @Override
    protected JsonParser _createParser(InputStream in, IOContext context) throws IOException {
        return parser(ByteBuffer.wrap(in.readAllBytes()), in, context);
    }

    @Override
    protected JsonParser _createParser(Reader in, IOContext context) {
        throw noText();
    }

    @Override
    protected JsonParser _createParser(char[] data, int offset, int length, IOContext context, boolean recyclable) {
        throw noText();
    }

    @Override
    protected JsonParser _createParser(DataInput in, IOContext context) {
        throw new UnsupportedOperationException("a DataInput does not say where a document ends: hand its bytes over");
    }

    private static UnsupportedOperationException noText() {
        return new UnsupportedOperationException("a LiveBuf document is bytes, and no text: use byte[] or a stream");
    }

    // --- generators

    @Override
    public JsonGenerator createGenerator(OutputStream out, JsonEncoding encoding) throws IOException {
        IOContext context = _createContext(_createContentReference(out), false);
        return _createUTF8Generator(_decorate(out, context), context);
    }

    @Override
    protected JsonGenerator _createUTF8Generator(OutputStream out, IOContext context) {
        return new LivebufGenerator(context, _generatorFeatures, getCodec(), options, out);
    }

    @Override
    protected JsonGenerator _createGenerator(Writer out, IOContext context) {
        throw noText();
    }

    @Override
    protected Writer _createWriter(OutputStream out, JsonEncoding encoding, IOContext context) {
        throw noText();
    }
}
