package io.github.livebuf.jackson;

import com.fasterxml.jackson.core.Base64Variant;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.ObjectCodec;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.Version;
import com.fasterxml.jackson.core.base.ParserMinimalBase;
import com.fasterxml.jackson.core.io.IOContext;
import com.fasterxml.jackson.core.json.DupDetector;
import com.fasterxml.jackson.core.json.JsonReadContext;
import io.github.livebuf.DocumentReader;
import io.github.livebuf.Kind;
import io.github.livebuf.LivebufException;
import io.github.livebuf.Value;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.function.Supplier;

/** Tokens of the values of a document. Scalars are read when they are asked for. */
final class LivebufParser extends ParserMinimalBase {
    private final IOContext ioContext;
    private final DocumentReader reader;
    private final InputStream in; // that the bytes came from; null where there is none
    private ObjectCodec codec;
    private JsonReadContext context;
    private JsonToken pending; // the token behind a field's name
    private String text; // of the token, once it was made
    private boolean closed;

    LivebufParser(IOContext ioContext, int features, ObjectCodec codec, Value root, InputStream in) {
        super(features, ioContext.streamReadConstraints());
        this.ioContext = ioContext;
        this.codec = codec;
        this.in = in;
        reader = new DocumentReader(root);
        context = JsonReadContext.createRootContext(
            Feature.STRICT_DUPLICATE_DETECTION.enabledIn(features) ? DupDetector.rootDetector(this) : null);
    }

    /** What Jackson throws for an exception of the document. */
    static JsonParseException wrong(JsonParser parser, IOContext context, LivebufException e) {
        JsonLocation where = new JsonLocation(context.contentReference(), e.offset(), -1, -1, -1);
        return new JsonParseException(parser, e.getMessage(), where, e);
    }

    private <T> T read(Supplier<T> what) throws JsonParseException {
        try {
            return what.get();
        } catch (LivebufException e) {
            throw wrong(this, ioContext, e);
        }
    }

    private Value value() {
        return reader.value();
    }

    // --- tokens

    @Override
    public JsonToken nextToken() throws IOException {
        text = null;
        _currToken = closed ? null : pending != null ? begun(pending) : next();
        return _currToken;
    }

    private JsonToken next() throws IOException {
        DocumentReader.Event event = read(reader::next);
        JsonToken token;
        switch (event) {
            case END -> {
                close();
                return null;
            }
            case END_OBJECT, END_ARRAY -> {
                context = context.getParent();
                return event == DocumentReader.Event.END_OBJECT ? JsonToken.END_OBJECT : JsonToken.END_ARRAY;
            }
            case OBJECT -> token = JsonToken.START_OBJECT;
            case ARRAY -> token = JsonToken.START_ARRAY;
            default -> token = scalar();
        }
        if (!context.inObject()) {
            return begun(token);
        }
        context.setCurrentName(reader.key());
        pending = token;
        return JsonToken.FIELD_NAME;
    }

    /** Takes a value's token up. */
    private JsonToken begun(JsonToken token) throws IOException {
        pending = null;
        context.expectComma(); // counts the values
        if (token.isStructStart()) {
            context = token == JsonToken.START_OBJECT ? context.createChildObjectContext(-1, -1)
                : context.createChildArrayContext(-1, -1);
            streamReadConstraints().validateNestingDepth(context.getNestingDepth());
        }
        return token;
    }

    private JsonToken scalar() throws JsonParseException {
        return switch (value().kind()) {
            case NULL -> JsonToken.VALUE_NULL;
            case BOOLEAN -> read(value()::asBoolean) ? JsonToken.VALUE_TRUE : JsonToken.VALUE_FALSE;
            case INT, UINT -> JsonToken.VALUE_NUMBER_INT;
            case FLOAT, DECIMAL -> JsonToken.VALUE_NUMBER_FLOAT;
            case NUMBER_TEXT -> isWhole() ? JsonToken.VALUE_NUMBER_INT : JsonToken.VALUE_NUMBER_FLOAT;
            case TEXT, DATE, TIME, DATE_TIME, TIMESTAMP, UUID -> JsonToken.VALUE_STRING;
            case BYTES -> JsonToken.VALUE_EMBEDDED_OBJECT;
            default -> throw new JsonParseException(this, "a newer version of livebuf is needed to read this value");
        };
    }

    /** Whether the text of a number has nothing but digits. */
    private boolean isWhole() throws JsonParseException {
        return read(value()::numberText).chars().allMatch(c -> c == '-' || c >= '0' && c <= '9');
    }

    @Override
    public JsonParser skipChildren() throws IOException {
        if (_currToken != null && _currToken.isStructStart()) {
            boolean isObject = _currToken == JsonToken.START_OBJECT;
            read(reader::skip);
            pending = null;
            context = context.getParent();
            _currToken = isObject ? JsonToken.END_OBJECT : JsonToken.END_ARRAY;
        }
        return this;
    }

    /** Ends nothing: a document has no text that could end too early. */
    @Override
    protected void _handleEOF() {}

    @Override
    public String currentName() {
        boolean isBegun = _currToken == JsonToken.START_OBJECT || _currToken == JsonToken.START_ARRAY;
        JsonReadContext of = isBegun && context.getParent() != null ? context.getParent() : context;
        return of.getCurrentName();
    }

    @Override
    @Deprecated
    public String getCurrentName() {
        return currentName();
    }

    @Override
    public void overrideCurrentName(String name) {
        JsonReadContext of = _currToken == JsonToken.START_OBJECT || _currToken == JsonToken.START_ARRAY
            ? context.getParent() : context;
        try {
            of.setCurrentName(name);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public JsonReadContext getParsingContext() {
        return context;
    }

    @Override
    public JsonLocation currentLocation() {
        return JsonLocation.NA;
    }

    @Override
    public JsonLocation currentTokenLocation() {
        return JsonLocation.NA;
    }

    @Override
    @Deprecated
    public JsonLocation getCurrentLocation() {
        return currentLocation();
    }

    @Override
    @Deprecated
    public JsonLocation getTokenLocation() {
        return currentTokenLocation();
    }

    // --- the parser itself

    @Override
    public ObjectCodec getCodec() {
        return codec;
    }

    @Override
    public void setCodec(ObjectCodec codec) {
        this.codec = codec;
    }

    @Override
    public Version version() {
        return LivebufFactory.VERSION;
    }

    @Override
    public StreamReadConstraints streamReadConstraints() {
        return ioContext.streamReadConstraints();
    }

    @Override
    public boolean isClosed() {
        return closed;
    }

    @Override
    public void close() throws IOException {
        if (!closed) {
            closed = true;
            try {
                if (in != null && (ioContext.isResourceManaged() || isEnabled(Feature.AUTO_CLOSE_SOURCE))) {
                    in.close();
                }
            } finally {
                ioContext.close();
            }
        }
    }

    // --- texts and bytes

    @Override
    public String getText() throws IOException {
        if (text == null && _currToken != null) {
            text = switch (_currToken) {
                case FIELD_NAME -> context.getCurrentName();
                case VALUE_STRING -> read(this::string);
                case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> isNaN() ? value().toString() : read(value()::numberText);
                case VALUE_EMBEDDED_OBJECT -> null;
                default -> _currToken.asString();
            };
        }
        return text;
    }

    private String string() {
        Value v = value();
        if (v.kind() == Kind.TEXT) {
            return v.asText();
        }
        String quoted = v.toJson(); // of a date, a time or a UUID
        return quoted.substring(1, quoted.length() - 1);
    }

    @Override
    public boolean hasTextCharacters() {
        return false;
    }

    @Override
    public char[] getTextCharacters() throws IOException {
        String all = getText();
        return all == null ? null : all.toCharArray();
    }

    @Override
    public int getTextLength() throws IOException {
        String all = getText();
        return all == null ? 0 : all.length();
    }

    @Override
    public int getTextOffset() {
        return 0;
    }

    @Override
    public Object getEmbeddedObject() throws IOException {
        return _currToken == JsonToken.VALUE_EMBEDDED_OBJECT ? read(value()::asBytes) : null;
    }

    @Override
    public byte[] getBinaryValue(Base64Variant variant) throws IOException {
        if (_currToken == JsonToken.VALUE_STRING) {
            try {
                return variant.decode(getText());
            } catch (IllegalArgumentException e) {
                throw new JsonParseException(this,
                    "the text is no base64 (" + variant.getName() + "): " + e.getMessage(), e);
            }
        }
        if (_currToken != JsonToken.VALUE_EMBEDDED_OBJECT) {
            _reportError("the token " + _currToken + " is neither bytes nor a text of them");
        }
        return read(value()::asBytes);
    }

    @Override
    public int readBinaryValue(Base64Variant variant, OutputStream out) throws IOException {
        byte[] data = getBinaryValue(variant);
        out.write(data);
        return data.length;
    }

    // --- numbers

    private void needNumber() throws IOException {
        if (_currToken == null || !_currToken.isNumeric()) {
            _reportError("the token " + _currToken + " is no number");
        }
    }

    private boolean isFloat() {
        return value().kind() == Kind.FLOAT;
    }

    @Override
    public boolean isNaN() throws IOException {
        return _currToken == JsonToken.VALUE_NUMBER_FLOAT && isFloat() && !Double.isFinite(read(value()::asDouble));
    }

    @Override
    public NumberType getNumberType() throws IOException {
        if (_currToken == JsonToken.VALUE_NUMBER_FLOAT) {
            return isFloat() ? NumberType.DOUBLE : NumberType.BIG_DECIMAL;
        }
        if (_currToken != JsonToken.VALUE_NUMBER_INT) {
            return null;
        }
        if (value().kind() != Kind.INT) {
            return NumberType.BIG_INTEGER;
        }
        long x = value().asLong();
        return (int) x == x ? NumberType.INT : NumberType.LONG;
    }

    @Override
    public NumberTypeFP getNumberTypeFP() throws IOException {
        return _currToken != JsonToken.VALUE_NUMBER_FLOAT ? NumberTypeFP.UNKNOWN
            : isFloat() ? NumberTypeFP.DOUBLE64 : NumberTypeFP.BIG_DECIMAL;
    }

    @Override
    public Number getNumberValue() throws IOException {
        needNumber();
        return switch (getNumberType()) {
            case INT -> getIntValue();
            case LONG -> getLongValue();
            case BIG_INTEGER -> getBigIntegerValue();
            case DOUBLE -> getDoubleValue();
            default -> getDecimalValue();
        };
    }

    @Override
    public int getIntValue() throws IOException {
        needNumber();
        if (value().kind() != Kind.INT) {
            double x = getDoubleValue();
            if (!(x > Integer.MIN_VALUE - 1.0 && x < Integer.MAX_VALUE + 1.0)) {
                reportOverflowInt();
            }
            return (int) x;
        }
        long x = value().asLong();
        if ((int) x != x) {
            reportOverflowInt();
        }
        return (int) x;
    }

    @Override
    public long getLongValue() throws IOException {
        needNumber();
        if (value().kind() == Kind.INT) {
            return value().asLong();
        }
        if (isFloat()) {
            double x = getDoubleValue();
            if (!(x >= Long.MIN_VALUE && x < 0x1p63)) {
                reportOverflowLong();
            }
            return (long) x;
        }
        BigInteger x = getBigIntegerValue();
        if (x.bitLength() > 63) {
            reportOverflowLong();
        }
        return x.longValue();
    }

    @Override
    public BigInteger getBigIntegerValue() throws IOException {
        needNumber();
        if (_currToken == JsonToken.VALUE_NUMBER_INT) {
            checkLength();
            return read(value()::asBigInteger);
        }
        BigDecimal x = getDecimalValue();
        streamReadConstraints().validateBigIntegerScale(x.scale());
        return x.toBigInteger();
    }

    @Override
    public float getFloatValue() throws IOException {
        return (float) getDoubleValue();
    }

    /** The nearest double, as for JSON: that of a very large number is infinite. */
    @Override
    public double getDoubleValue() throws IOException {
        needNumber();
        return value().kind() == Kind.NUMBER_TEXT ? Double.parseDouble(getText())
            : value().kind() == Kind.DECIMAL ? read(value()::asBigDecimal).doubleValue() : read(value()::asDouble);
    }

    @Override
    public BigDecimal getDecimalValue() throws IOException {
        needNumber();
        checkLength();
        return read(value()::asBigDecimal);
    }

    /** Jackson limits the digits of numbers, which take time by the square of their count. */
    private void checkLength() throws IOException {
        if (value().kind() == Kind.NUMBER_TEXT) {
            streamReadConstraints().validateFPLength(getText().length());
        }
    }
}
