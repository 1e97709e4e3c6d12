package io.github.livebuf.jackson;

import com.fasterxml.jackson.core.Base64Variant;
import com.fasterxml.jackson.core.JsonGenerationException;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.ObjectCodec;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import com.fasterxml.jackson.core.Version;
import com.fasterxml.jackson.core.base.GeneratorBase;
import com.fasterxml.jackson.core.io.IOContext;
import com.fasterxml.jackson.core.json.JsonWriteContext;
import io.github.livebuf.Document;
import io.github.livebuf.DocumentWriter;
import io.github.livebuf.LivebufException;
import io.github.livebuf.NumberText;
import io.github.livebuf.Option;
import io.github.livebuf.Value;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;

/** Writes one document of what Jackson hands over. It goes to the stream when its root is whole. */
final class LivebufGenerator extends GeneratorBase {
    private static final Set<Class<?>> EMBEDDED = Set.of(Value.class, Document.class, NumberText.class, UUID.class,
        Instant.class, LocalDate.class, LocalTime.class, LocalDateTime.class, byte[].class);

    private final DocumentWriter writer;
    private final OutputStream out;
    private boolean failed;

    LivebufGenerator(IOContext context, int features, ObjectCodec codec, Option[] options, OutputStream out) {
        super(features, codec, context);
        this.out = out;
        writer = new DocumentWriter(options);
    }

    private void add(Consumer<DocumentWriter> what) throws IOException {
        try {
            what.accept(writer);
        } catch (LivebufException e) {
            failed = true;
            throw new JsonGenerationException(e.getMessage(), e, this);
        }
        if (_writeContext.inRoot() && _writeContext.hasCurrentIndex()) {
            out.write(writer.finish());
        }
    }

    private void value(String what, Consumer<DocumentWriter> value) throws IOException {
        _verifyValueWrite(what);
        add(value);
    }

    @Override
    protected void _verifyValueWrite(String what) throws IOException {
        if (failed) {
            _reportError("Can not " + what + ": an error ended the document");
        }
        if (_writeContext.inRoot() && _writeContext.hasCurrentIndex()) {
            _reportError("Can not " + what + ": a document has one value, so put several into an array");
        }
        if (_writeContext.writeValue() == JsonWriteContext.STATUS_EXPECT_NAME) {
            _reportError("Can not " + what + ", expecting field name");
        }
    }

    // --- containers

    @Override
    public void writeStartObject() throws IOException {
        begin(true, null);
    }

    @Override
    public void writeStartObject(Object forValue) throws IOException {
        begin(true, forValue);
    }

    @Override
    public void writeStartObject(Object forValue, int size) throws IOException {
        begin(true, forValue);
    }

    @Override
    public void writeStartArray() throws IOException {
        begin(false, null);
    }

    @Override
    public void writeStartArray(Object forValue) throws IOException {
        begin(false, forValue);
    }

    @Override
    public void writeStartArray(Object forValue, int size) throws IOException {
        begin(false, forValue);
    }

    private void begin(boolean isObject, Object forValue) throws IOException {
        _verifyValueWrite(isObject ? "start an object" : "start an array");
        _writeContext = isObject ? _writeContext.createChildObjectContext(forValue)
            : _writeContext.createChildArrayContext(forValue);
        streamWriteConstraints().validateNestingDepth(_writeContext.getNestingDepth());
        add(isObject ? DocumentWriter::beginObject : DocumentWriter::beginArray);
    }

    @Override
    public void writeEndObject() throws IOException {
        if (!_writeContext.inObject()) {
            _reportError("Current context not Object but " + _writeContext.typeDesc());
        }
        if (failed) {
            _reportError("Can not end an object: an error ended the document");
        }
        _writeContext = _writeContext.getParent();
        add(DocumentWriter::endObject);
    }

    @Override
    public void writeEndArray() throws IOException {
        if (!_writeContext.inArray()) {
            _reportError("Current context not Array but " + _writeContext.typeDesc());
        }
        if (failed) {
            _reportError("Can not end an array: an error ended the document");
        }
        _writeContext = _writeContext.getParent();
        add(DocumentWriter::endArray);
    }

    @Override
    public void writeFieldName(String name) throws IOException {
        if (_writeContext.writeFieldName(name) == JsonWriteContext.STATUS_EXPECT_VALUE) {
            _reportError("Can not write a field name, expecting a value");
        }
        add(w -> w.key(name));
    }

    // --- scalars

    @Override
    public void writeNull() throws IOException {
        value("write a null", w -> w.value((Object) null));
    }

    @Override
    public void writeBoolean(boolean x) throws IOException {
        value("write a boolean", w -> w.value(x));
    }

    @Override
    public void writeNumber(int x) throws IOException {
        value("write a number", w -> w.value((long) x));
    }

    @Override
    public void writeNumber(long x) throws IOException {
        value("write a number", w -> w.value(x));
    }

    @Override
    public void writeNumber(BigInteger x) throws IOException {
        value("write a number", w -> w.value((Object) x));
    }

    @Override
    public void writeNumber(float x) throws IOException {
        writeNumber((double) x);
    }

    @Override
    public void writeNumber(double x) throws IOException {
        value("write a number", w -> w.value(x));
    }

    @Override
    public void writeNumber(BigDecimal x) throws IOException {
        value("write a number", w -> w.value((Object) x));
    }

    /** Writes a number of JSON by its text, exactly. */
    @Override
    public void writeNumber(String text) throws IOException {
        value("write a number", w -> w.value(NumberText.of(text)));
    }

    @Override
    public void writeString(String text) throws IOException {
        value("write a string", w -> w.value((Object) text));
    }

    @Override
    public void writeString(char[] text, int offset, int length) throws IOException {
        writeString(new String(text, offset, length));
    }

    @Override
    public void writeUTF8String(byte[] text, int offset, int length) throws IOException {
        writeString(new String(text, offset, length, StandardCharsets.UTF_8));
    }

    @Override
    public void writeRawUTF8String(byte[] text, int offset, int length) {
        _reportUnsupportedOperation();
    }

    @Override
    public void writeBinary(Base64Variant variant, byte[] data, int offset, int length) throws IOException {
        value("write bytes", w -> w.value(Arrays.copyOfRange(data, offset, offset + length)));
    }

    @Override
    public int writeBinary(Base64Variant variant, InputStream data, int length) throws IOException {
        byte[] all = length < 0 ? data.readAllBytes() : data.readNBytes(length);
        if (all.length < length) {
            _reportError("Can not write bytes: " + length + " were promised, and the stream has " + all.length);
        }
        writeBinary(variant, all, 0, all.length);
        return all.length;
    }

    /** Stores UUIDs, dates and times as such, bytes as bytes, and parts of other documents as they are. */
    @Override
    public void writeEmbeddedObject(Object x) throws IOException {
        if (x == null || EMBEDDED.contains(x.getClass())) {
            value("write a value", w -> w.value(x));
        } else {
            super.writeEmbeddedObject(x);
        }
    }

    // --- text of JSON, of which there is none in a document

    @Override
    public void writeRaw(String text) {
        _reportUnsupportedOperation();
    }

    @Override
    public void writeRaw(String text, int offset, int length) {
        _reportUnsupportedOperation();
    }

    @Override
    public void writeRaw(char[] text, int offset, int length) {
        _reportUnsupportedOperation();
    }

    @Override
    public void writeRaw(char c) {
        _reportUnsupportedOperation();
    }

    @Override
    public void writeRawValue(String text) {
        _reportUnsupportedOperation();
    }

    @Override
    public void writeRawValue(String text, int offset, int length) {
        _reportUnsupportedOperation();
    }

    @Override
    public void writeRawValue(char[] text, int offset, int length) {
        _reportUnsupportedOperation();
    }

    // --- the generator itself

    @Override
    public JsonGenerator useDefaultPrettyPrinter() {
        return this; // there is nothing to indent
    }

    @Override
    public StreamWriteConstraints streamWriteConstraints() {
        return _ioContext.streamWriteConstraints();
    }

    @Override
    public Version version() {
        return LivebufFactory.VERSION;
    }

    @Override
    public Object getOutputTarget() {
        return out;
    }

    /** Writes nothing before the document is whole. */
    @Override
    public void flush() throws IOException {
        if (isEnabled(Feature.FLUSH_PASSED_TO_STREAM)) {
            out.flush();
        }
    }

    @Override
    protected void _releaseBuffers() {}

    @Override
    public void close() throws IOException {
        if (isClosed()) {
            return;
        }
        try {
            while (!failed && isEnabled(Feature.AUTO_CLOSE_JSON_CONTENT) && !_writeContext.inRoot()) {
                if (_writeContext.inArray()) {
                    writeEndArray();
                } else {
                    writeEndObject();
                }
            }
        } finally {
            super.close();
            if (_ioContext.isResourceManaged() || isEnabled(Feature.AUTO_CLOSE_TARGET)) {
                out.close();
            } else {
                flush();
            }
        }
    }
}
