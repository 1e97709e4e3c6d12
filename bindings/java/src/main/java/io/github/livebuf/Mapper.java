package io.github.livebuf;

import static io.github.livebuf.Layout.*;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Makes documents of values of a type, and values of documents: of records and beans first of all, whose members are
 * those of an object. A mapper is made once, when the type is checked, and may be used by any number of threads.
 *
 * <p>Members of a record are its components, in their order. Those of any other class are its fields, which may be
 * private, but neither static nor transient; those of its superclass come first. It needs a constructor without
 * parameters to be read. {@link Mapped} gives a member another key, or leaves it out. Where a class is in a named
 * module, its package must be open to this library.
 *
 * <p>These types become what {@link Livebuf#encode} says: boolean, the numbers of Java, BigInteger, BigDecimal, String,
 * char, byte[], ByteBuffer, UUID, Instant, LocalDate, LocalTime, LocalDateTime, OffsetDateTime, ZonedDateTime,
 * enumerations, Duration, URI, {@link Value}, {@link Document}, {@link NumberText}, Optional, OptionalInt,
 * OptionalLong, OptionalDouble, other arrays, collections and other Iterables, maps, Object, records and beans. A
 * {@link Handle} is written as its value, and not read.
 *
 * <p>Of collections and maps the interfaces and classes of java.util are read, and classes that have a constructor
 * without parameters. Keys of maps are String, char, boolean, the integers of Java, BigInteger, double, LocalDate, UUID
 * and enumerations; they are read as they are written, so "05" is no integer. An interface or an abstract class is
 * written as what its value is. To read it is an error, since one cannot tell which class is wanted. Type variables of
 * which nothing is known are what bounds them.
 *
 * @param <T> the type
 */
public final class Mapper<T> {
    private final Codec codec;

    private Mapper(Codec codec) {
        this.codec = codec;
    }

    /**
     * The mapper of a class.
     *
     * @throws LivebufException of kind BAD_VALUE if the class, or that of a member, has no place in documents
     */
    public static <T> Mapper<T> of(Class<T> type) {
        return new Mapper<>(CODECS.get(type));
    }

    /** The mapper of lists of a class. */
    public static <E> Mapper<List<@Nullable E>> listOf(Class<E> element) {
        return new Mapper<>(make(new Spec(List.class, List.of(Spec.of(element))), new HashMap<>()));
    }

    /** The mapper of maps from texts to a class. */
    public static <E> Mapper<Map<String, @Nullable E>> mapOf(Class<E> element) {
        Spec type = new Spec(Map.class, List.of(Spec.of(String.class), Spec.of(element)));
        return new Mapper<>(make(type, new HashMap<>()));
    }

    /**
     * Encodes a value, which may be null, as a document, as {@link Livebuf#encode} does.
     *
     * @return the bytes of the document
     */
    public byte[] encode(@Nullable T value, Option... options) {
        return Encoder.runAgain(options, e -> put(codec, e, value));
    }

    /** Reads a whole document; see {@link #decode(Value)}. */
    public @Nullable T decode(byte[] document) {
        return decode(Document.open(document).root());
    }

    /** Reads a whole document; see {@link #decode(Value)}. */
    public @Nullable T decode(Document document) {
        return decode(document.root());
    }

    /**
     * Reads a value. All is copied, but a {@link Value}, which refers to the document.
     *
     * <p>Members of an object go to those of their names, exactly as they are spelt. Others are not read. A component
     * or a field without a member, or whose member is null, is null, 0, false or an empty Optional; a field of a bean
     * without a member stays as the constructor made it. Null in an array of numbers or booleans is 0 or false. Dates,
     * times and UUIDs are also read from texts, and byte[] from text in base64.
     *
     * @return the value, which is null where null was stored
     * @throws LivebufException with the path to the value that does not fit. Numbers are exact: one that the wanted
     *     type does not hold is an error; only a float is the nearest one of a double. It is of kind WRONG_TYPE,
     *     BUDGET_EXCEEDED (a small document that stands for very much), or the kind of damage
     */
    @SuppressWarnings("unchecked")
    public @Nullable T decode(Value value) {
        return (T) Decoder.run(value, (d, v) -> take(codec, d, v));
    }

    // --- codecs

    /** Encodes what is not null. */
    private interface Put<T> {
        void put(Encoder e, T x);
    }

    /** Decodes what is not null. */
    private interface Take {
        Object take(Decoder d, Value v);
    }

    /** How values of a type are encoded and decoded. */
    private static class Codec {
        Put<Object> put;
        Take take;

        @SuppressWarnings("unchecked")
        <T> Codec(Put<? super T> put, Take take) {
            this.put = (Put<Object>) put;
            this.take = take;
        }

        /** What stands for null, and for a member that is not there. */
        @Nullable Object absent() {
            return null;
        }
    }

    private static void put(Codec codec, Encoder e, @Nullable Object x) {
        if (x == null) {
            e.push(TAG_NULL, 0);
        } else {
            codec.put.put(e, x);
        }
    }

    private static @Nullable Object take(Codec codec, Decoder d, Value v) {
        return v.tag == TAG_NULL ? codec.absent() : codec.take.take(d, v);
    }

    /** Adds a value of any type. */
    static void any(Encoder e, @Nullable Object x) {
        if (x == null) {
            e.push(TAG_NULL, 0);
        } else if (x instanceof String text) {
            e.text(text);
        } else if (x.getClass() == Object.class) {
            throw LivebufException.of(ErrorKind.BAD_VALUE, "an object of Java type Object has nothing to store");
        } else {
            CODECS.get(x.getClass()).put.put(e, x);
        }
    }

    /** A type and its type arguments, which are null where they may be any. */
    private record Spec(Class<?> raw, List<Spec> arguments) {
        private static final Spec ANY = new Spec(Object.class, List.of());
        private static final int MOST_TYPES = 128;

        static Spec of(Type type) {
            return of(type, Map.of());
        }

        static Spec of(Type type, Map<TypeVariable<?>, Spec> known) {
            if (type instanceof Class<?> c) {
                return new Spec(c, List.of());
            }
            if (type instanceof ParameterizedType p) {
                List<Spec> arguments = new ArrayList<>();
                for (Type argument : p.getActualTypeArguments()) {
                    boolean isAny = argument instanceof WildcardType w && w.getUpperBounds()[0] == Object.class;
                    arguments.add(isAny ? null : of(argument, known));
                }
                return new Spec((Class<?>) p.getRawType(), arguments);
            }
            if (type instanceof GenericArrayType array) {
                Spec element = of(array.getGenericComponentType(), known);
                return new Spec(element.raw.arrayType(), List.of(element));
            }
            if (type instanceof WildcardType w) {
                return of(w.getUpperBounds()[0], known);
            }
            TypeVariable<?> variable = (TypeVariable<?>) type;
            if (known.containsKey(variable)) {
                return known.get(variable);
            }
            // One that is not known is what bounds it, in which it may itself be named.
            Class<?> bound = erased(variable);
            if (bound.isAssignableFrom(Long.class) && bound.isAssignableFrom(String.class)) {
                return ANY; // such as Comparable
            }
            Map<TypeVariable<?>, Spec> within = new HashMap<>(known);
            within.put(variable, new Spec(bound, List.of()));
            return of(variable.getBounds()[0], within);
        }

        private static Class<?> erased(Type type) {
            return type instanceof Class<?> c ? c : type instanceof ParameterizedType p ? (Class<?>) p.getRawType()
                : erased(((TypeVariable<?>) type).getBounds()[0]);
        }

        /** The elements of an array. */
        Spec element() {
            return arguments.isEmpty() ? new Spec(raw.getComponentType(), List.of()) : arguments.get(0);
        }

        /** An argument of a class or an interface that this one is, or is derived from. */
        Spec argument(Class<?> above, int i) {
            return of(above.getTypeParameters()[i], known());
        }

        /** What the variables of the class stand for, and those of all that it is derived from. */
        Map<TypeVariable<?>, Spec> known() {
            Map<TypeVariable<?>, Spec> known = new HashMap<>();
            addTo(known);
            return known;
        }

        private void addTo(Map<TypeVariable<?>, Spec> known) {
            TypeVariable<?>[] variables = raw.getTypeParameters();
            for (int i = 0; i < variables.length && i < arguments.size(); i++) {
                if (arguments.get(i) != null) {
                    known.put(variables[i], arguments.get(i));
                }
            }
            if (raw.getGenericSuperclass() != null) {
                of(raw.getGenericSuperclass(), known).addTo(known);
            }
            for (Type type : raw.getGenericInterfaces()) {
                of(type, known).addTo(known);
            }
        }

        /** How many types its description has. */
        int size() {
            return 1 + arguments.stream().mapToInt(x -> x == null ? 0 : x.size()).sum();
        }

        @Override
        public String toString() {
            return raw.getTypeName();
        }
    }

    /** The codec of each class, which is made once, and forgotten with the class. */
    private static final ClassValue<Codec> CODECS = new ClassValue<>() {
        @Override
        protected Codec computeValue(Class<?> type) {
            return make(Spec.of(type), new HashMap<>());
        }
    };

    /** The codec of a type. Those that are being made are known, since types may contain themselves. */
    private static Codec codec(Spec type, Map<Spec, Codec> made) {
        Codec codec = made.get(type);
        return codec != null ? codec : make(type, made);
    }

    private static Codec make(Spec type, Map<Spec, Codec> made) {
        if (type.size() > Spec.MOST_TYPES) {
            throw LivebufException.of(ErrorKind.BAD_VALUE, "Java type %s has more than %d type arguments within each "
                + "other: if it holds itself with others than its own, leave it out there", type, Spec.MOST_TYPES);
        }
        Codec codec = SCALARS.get(type.raw);
        if (codec != null) {
            return codec;
        }
        Codec itself = new Codec(null, null);
        made.put(type, itself); // what a collection may have among its elements
        codec = ofSeveral(type, made);
        if (codec == null) {
            return new ObjectCodec(type, made);
        }
        itself.put = codec.put;
        itself.take = codec.take;
        return codec;
    }

    /** The codec of a type that is no object; null where it is one. */
    private static Codec ofSeveral(Spec type, Map<Spec, Codec> made) {
        Class<?> raw = type.raw;
        if (raw.isArray()) {
            return ofArray(type, made);
        }
        if (raw == Optional.class) {
            return ofOptional(codec(type.argument(Optional.class, 0), made), Optional.empty(), x -> x.orElse(null),
                Optional::ofNullable);
        }
        if (Map.class.isAssignableFrom(raw)) {
            return ofMap(type, made);
        }
        if (Iterable.class.isAssignableFrom(raw) && !raw.isRecord() && !Path.class.isAssignableFrom(raw)) {
            return ofCollection(raw, type.argument(Iterable.class, 0), made);
        }
        if (ByteBuffer.class.isAssignableFrom(raw)) {
            return SCALARS.get(ByteBuffer.class);
        }
        Class<?> above = raw.getSuperclass();
        if (raw.isEnum() || above != null && above.isEnum()) {
            return ofEnum(raw.isEnum() ? raw : above);
        }
        if (!raw.isPrimitive() && (raw.isInterface() || Modifier.isAbstract(raw.getModifiers()))) {
            return new Codec(Mapper::any, (d, v) -> {
                throw unmade(raw); // one cannot tell which class is wanted
            });
        }
        return null;
    }

    // --- scalars

    private static final Map<Class<?>, Codec> SCALARS = new HashMap<>();

    private static <T> void scalar(Class<T> type, Put<? super T> put, Take take) {
        SCALARS.put(type, new Codec(put, take));
    }

    /** As scalar, for values that are also read from texts, by a function that throws where a text is none. */
    private static <T> void orText(Class<T> type, int tag, Put<? super T> put, Function<Value, T> take,
        Function<String, T> parse) {
        scalar(type, put, (d, v) -> {
            if (v.tag == tag) {
                return take.apply(v);
            }
            try {
                return parse.apply(text(d, v, type));
            } catch (DateTimeException | IllegalArgumentException x) {
                throw misfit(v, type);
            }
        });
    }

    private static <T extends Number> void whole(Class<T> type, Class<T> primitive, long low, long high,
        Function<Long, T> cast) {
        Codec codec = new Codec((Encoder e, T x) -> e.integer(x.longValue()), (d, v) -> {
            if (v.tag != TAG_INT || v.bits < low || v.bits > high) {
                throw misfit(v, primitive);
            }
            return cast.apply(v.bits);
        });
        SCALARS.put(type, codec);
        SCALARS.put(primitive, codec);
    }

    private static void primitive(Class<?> boxed, Class<?> primitive) {
        SCALARS.put(primitive, SCALARS.get(boxed));
    }

    private static void timestamp(Encoder e, Instant x) {
        long seconds = x.getEpochSecond();
        boolean isFar = Math.abs(seconds) > (MAX_DAY + 1) * 86_400L;
        e.immediate(TAG_TIMESTAMP, isFar ? Long.MAX_VALUE : seconds * 1_000_000 + x.getNano() / 1000);
    }

    static {
        scalar(Object.class, Mapper::any, Decoder::plain);
        scalar(Number.class, Mapper::any, (d, v) -> {
            if (d.plain(v) instanceof Number x) {
                return x;
            }
            throw misfit(v, Number.class);
        });
        scalar(Boolean.class, Encoder::bool, (d, v) -> {
            if (v.tag != TAG_TRUE && v.tag != TAG_FALSE) {
                throw misfit(v, boolean.class);
            }
            return v.tag == TAG_TRUE;
        });
        primitive(Boolean.class, boolean.class);
        whole(Byte.class, byte.class, Byte.MIN_VALUE, Byte.MAX_VALUE, Long::byteValue);
        whole(Short.class, short.class, Short.MIN_VALUE, Short.MAX_VALUE, Long::shortValue);
        whole(Integer.class, int.class, Integer.MIN_VALUE, Integer.MAX_VALUE, Long::intValue);
        whole(Long.class, long.class, Long.MIN_VALUE, Long.MAX_VALUE, x -> x);
        scalar(Double.class, Encoder::number, (d, v) -> exactDouble(v, double.class));
        primitive(Double.class, double.class);
        scalar(Float.class, (e, x) -> e.number((double) x), (d, v) -> {
            double x = exactDouble(v, float.class);
            float nearest = (float) x;
            if (v.tag == TAG_INT ? nearest != x : Float.isInfinite(nearest) && !Double.isInfinite(x)) {
                throw misfit(v, float.class);
            }
            return nearest;
        });
        primitive(Float.class, float.class);
        scalar(Character.class, (e, x) -> e.text(x.toString()), (d, v) -> {
            String text = text(d, v, char.class);
            if (text.length() != 1) {
                throw misfit(v, char.class);
            }
            return text.charAt(0);
        });
        primitive(Character.class, char.class);
        scalar(String.class, (e, x) -> e.text(x), (d, v) -> text(d, v, String.class));
        scalar(CharSequence.class, (e, x) -> e.text(x.toString()), (d, v) -> text(d, v, String.class));
        scalar(StringBuilder.class, (e, x) -> e.text(x.toString()),
            (d, v) -> new StringBuilder(text(d, v, String.class)));
        scalar(BigInteger.class, (e, x) -> e.integer(x), (d, v) -> paid(d, v).asBigInteger());
        scalar(BigDecimal.class, (e, x) -> e.decimal(x), (d, v) -> paid(d, v).asBigDecimal());
        scalar(NumberText.class, (e, x) -> e.number(x), (d, v) -> NumberText.of(paid(d, v).numberText()));
        scalar(Value.class, (e, x) -> e.value(x), (d, v) -> v);
        scalar(Handle.class, (e, x) -> e.value(x.value()), (d, v) -> {
            throw misfit(v, Handle.class);
        });
        scalar(Document.class, (e, x) -> e.value(x.root()), (d, v) -> {
            byte[] bytes = Encoder.run(new Option[0], e -> e.value(v));
            d.pay(1, bytes.length, v);
            return new Document(new Mem(bytes, bytes.length), true);
        });
        scalar(byte[].class, (e, x) -> e.span(TAG_BYTES, x, 0, x.length), Mapper::bytes);
        scalar(ByteBuffer.class, (e, x) -> {
            byte[] bytes = new byte[x.remaining()];
            x.duplicate().get(bytes);
            e.span(TAG_BYTES, bytes, 0, bytes.length);
        }, (d, v) -> ByteBuffer.wrap(bytes(d, v)));
        orText(UUID.class, TAG_UUID, (e, x) -> e.uuid(x.getMostSignificantBits(), x.getLeastSignificantBits()),
            Value::asUuid, UUID::fromString);
        orText(Instant.class, TAG_TIMESTAMP, Mapper::timestamp, Value::asInstant, Instant::parse);
        orText(OffsetDateTime.class, TAG_TIMESTAMP, (e, x) -> timestamp(e, x.toInstant()),
            v -> v.asInstant().atOffset(ZoneOffset.UTC), OffsetDateTime::parse);
        orText(ZonedDateTime.class, TAG_TIMESTAMP, (e, x) -> timestamp(e, x.toInstant()),
            v -> v.asInstant().atZone(ZoneOffset.UTC), ZonedDateTime::parse);
        orText(LocalDate.class, TAG_DATE, (e, x) -> e.immediate(TAG_DATE, x.toEpochDay()), Value::asDate,
            LocalDate::parse);
        orText(LocalTime.class, TAG_TIME, (e, x) -> e.immediate(TAG_TIME, x.toNanoOfDay() / 1000), Value::asTime,
            LocalTime::parse);
        orText(LocalDateTime.class, TAG_DATE_TIME, (e, x) -> {
            long days = x.toLocalDate().toEpochDay();
            long micros = x.toLocalTime().toNanoOfDay() / 1000;
            e.immediate(TAG_DATE_TIME, Math.abs(days) > MAX_DAY ? Long.MAX_VALUE : days * DAY_MICROS + micros);
        }, Value::asDateTime, LocalDateTime::parse);
        orText(Duration.class, TAG_NOTHING, (e, x) -> e.text(x.toString()), null, Duration::parse);
        orText(URI.class, TAG_NOTHING, (e, x) -> e.text(x.toString()), null, URI::create);
        SCALARS.put(OptionalInt.class, ofOptional(SCALARS.get(int.class), OptionalInt.empty(),
            x -> x.isPresent() ? x.getAsInt() : null, x -> OptionalInt.of((int) x)));
        SCALARS.put(OptionalLong.class, ofOptional(SCALARS.get(long.class), OptionalLong.empty(),
            x -> x.isPresent() ? x.getAsLong() : null, x -> OptionalLong.of((long) x)));
        SCALARS.put(OptionalDouble.class, ofOptional(SCALARS.get(double.class), OptionalDouble.empty(),
            x -> x.isPresent() ? x.getAsDouble() : null, x -> OptionalDouble.of((double) x)));
    }

    /** A number whose digits are paid for: they take time by the square of their count. */
    private static Value paid(Decoder d, Value v) {
        long digits = v.tag == TAG_NUMBER_TEXT ? v.bits : 0;
        d.pay(1, digits + digits * digits / 256, v);
        return v;
    }

    private static String text(Decoder d, Value v, Class<?> type) {
        if (v.tag != TAG_TEXT) {
            throw misfit(v, type);
        }
        d.pay(1, v.bits, v);
        return v.asText();
    }

    private static byte[] bytes(Decoder d, Value v) {
        if (v.tag != TAG_BYTES && v.tag != TAG_TEXT) {
            throw misfit(v, byte[].class);
        }
        d.pay(1, v.bits, v);
        try {
            return v.tag == TAG_BYTES ? v.asBytes() : Base64.getDecoder().decode(v.spanBytes());
        } catch (IllegalArgumentException x) {
            throw misfit(v, byte[].class);
        }
    }

    /** A number that a double holds exactly. */
    private static double exactDouble(Value v, Class<?> type) {
        double x = v.tag == TAG_FLOAT ? Double.longBitsToDouble(v.bits) : v.tag == TAG_INT ? v.bits : 0;
        if (v.tag != TAG_FLOAT && (v.tag != TAG_INT || (long) x != v.bits || x == 0x1p63)) {
            throw misfit(v, type);
        }
        return x;
    }

    /** The error of a value that is not of the wanted type. */
    private static LivebufException misfit(Value v, Class<?> type) {
        return LivebufException.of(ErrorKind.WRONG_TYPE, "the value is %s, and does not fit Java type %s exactly",
            v.kind().title, type.getTypeName());
    }

    /** The error of a type whose values can be written, but not read. */
    private static LivebufException unmade(Class<?> type) {
        return LivebufException.of(ErrorKind.WRONG_TYPE, "a value of Java type %s cannot be made: the type is "
            + "abstract, takes no elements, or has no constructor without parameters that this library may call",
            type.getTypeName());
    }

    /** The error of values that a method or a constructor of the program did not take. */
    private static LivebufException refused(Class<?> type, Throwable x) {
        if (x instanceof Error e) {
            throw e;
        }
        return LivebufException.of(ErrorKind.WRONG_TYPE, "Java type %s refused the values: %s", type.getTypeName(), x);
    }

    /** Adds a step to the path of an error. */
    private static LivebufException within(LivebufException x, String step) {
        StringBuilder path = new StringBuilder();
        Encoder.step(path, step);
        return x.withPath(path.append(x.path()).toString());
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Codec ofEnum(Class<?> raw) {
        return new Codec((Encoder e, Enum<?> x) -> e.text(x.name()), (d, v) -> {
            try {
                return Enum.valueOf((Class) raw, text(d, v, raw));
            } catch (IllegalArgumentException x) {
                throw misfit(v, raw);
            }
        });
    }

    /** The codec of an optional value: `get` gives what is in it, or null, and `make` puts something into a new one. */
    private static <T> Codec ofOptional(Codec element, T empty, Function<T, @Nullable Object> get,
        Function<@Nullable Object, T> make) {
        Put<T> put = (e, x) -> Mapper.put(element, e, get.apply(x));
        return new Codec(put, (d, v) -> make.apply(element.take.take(d, v))) {
            @Override
            Object absent() {
                return empty;
            }
        };
    }

    // --- arrays and collections

    private interface Each {
        void take(int i, Value v);
    }

    /** Calls a function for each element of an array. */
    private static void elements(Decoder d, Value v, Class<?> type, Each each) {
        if (v.form != Value.ARRAY) {
            throw misfit(v, type);
        }
        d.enter(v);
        int i = 0;
        try {
            Read.Head c = Read.column(v.doc.m, v.at);
            for (; i < v.count(); i++) {
                each.take(i, Read.slot(v.doc, c, v.first() + i));
            }
        } catch (LivebufException x) {
            throw within(x, Integer.toString(i));
        }
        d.leave();
    }

    private static Codec ofArray(Spec type, Map<Spec, Codec> made) {
        Class<?> raw = type.raw;
        Spec element = type.element();
        Codec codec = codec(element, made);
        Put<Object> put;
        if (raw == int[].class) {
            put = (e, x) -> {
                for (int each : (int[]) x) {
                    e.integer(each);
                }
            };
        } else if (raw == long[].class) {
            put = (e, x) -> {
                for (long each : (long[]) x) {
                    e.integer(each);
                }
            };
        } else if (raw == double[].class) {
            put = (e, x) -> {
                for (double each : (double[]) x) {
                    e.number(each);
                }
            };
        } else {
            put = (e, x) -> {
                for (int i = 0, n = Array.getLength(x); i < n; i++) {
                    put(codec, e, Array.get(x, i));
                }
            };
        }
        return new Codec((e, x) -> {
            e.beginArray();
            put.put(e, x);
            e.endArray();
        }, (d, v) -> {
            d.pay(v.size(), 8L * v.size(), v);
            Object array = Array.newInstance(element.raw, v.size());
            elements(d, v, raw, (i, x) -> {
                Object each = take(codec, d, x);
                if (each != null) {
                    Array.set(array, i, each);
                }
            });
            return array;
        });
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Codec ofCollection(Class<?> raw, Spec elements, Map<Spec, Codec> made) {
        Codec element = codec(elements, made);
        Put<Iterable<?>> put = (e, all) -> {
            e.beginArray();
            for (Object x : all) {
                put(element, e, x);
            }
            e.endArray();
        };
        IntFunction<Object> make = raw.isAssignableFrom(ArrayList.class) ? ArrayList::new
            : raw == EnumSet.class && elements.raw.isEnum() ? n -> EnumSet.noneOf((Class) elements.raw)
            : maker(raw, LinkedHashSet.class, TreeSet.class, LinkedList.class);
        return new Codec(put, (d, v) -> {
            d.pay(v.size(), 8L * v.size(), v);
            if (!(make.apply(v.size()) instanceof Collection all)) {
                throw unmade(raw);
            }
            if (!(element instanceof ObjectCodec rows && rows.takeRows(d, v, all))) {
                elements(d, v, raw, (i, x) -> addTo(all, take(element, d, x), v));
            }
            return all;
        });
    }

    private static void addTo(Collection<@Nullable Object> all, @Nullable Object x, Value v) {
        try {
            all.add(x);
        } catch (RuntimeException wrong) {
            throw misfit(v, all.getClass()); // what a sorted set does not take
        }
    }

    /** Makes collections or maps: of the first of others that a type may be, else of itself; null without a way. */
    private static IntFunction<Object> maker(Class<?> raw, Class<?>... others) {
        MethodHandle make = constructor(Stream.of(others).filter(raw::isAssignableFrom).findFirst().orElse(raw));
        return n -> {
            try {
                return make == null ? null : (Object) make.invokeExact();
            } catch (Throwable x) {
                throw refused(raw, x);
            }
        };
    }

    /** The constructor without parameters, as ()Object; null if there is none, or it is closed to this library. */
    private static MethodHandle constructor(Class<?> raw) {
        try {
            Constructor<?> constructor = raw.getDeclaredConstructor();
            return Modifier.isAbstract(raw.getModifiers()) || !constructor.trySetAccessible() ? null
                : MethodHandles.lookup().unreflectConstructor(constructor).asType(MethodType.methodType(Object.class));
        } catch (NoSuchMethodException | IllegalAccessException x) {
            return null;
        }
    }

    // --- maps

    private static final Map<Class<?>, Function<String, Object>> KEYS = new HashMap<>();

    /** Keys are read by their only spelling, so that no two of an object become one. */
    private static void key(Class<?> type, Function<String, Object> parse) {
        KEYS.put(type, text -> {
            Object key = parse.apply(text);
            if (!key.toString().equals(text)) {
                throw new IllegalArgumentException("\"" + text + "\" would be written as \"" + key + "\"");
            }
            return key;
        });
    }

    static {
        for (Class<?> text : List.of(String.class, Object.class, CharSequence.class)) {
            KEYS.put(text, x -> x);
        }
        key(Character.class, x -> x.charAt(0));
        key(Boolean.class, Boolean::valueOf);
        key(Byte.class, Byte::valueOf);
        key(Short.class, Short::valueOf);
        key(Integer.class, Integer::valueOf);
        key(Long.class, Long::valueOf);
        key(Double.class, Double::valueOf);
        key(BigInteger.class, BigInteger::new);
        key(LocalDate.class, LocalDate::parse);
        key(UUID.class, UUID::fromString);
    }

    /** The text of the key of a map. */
    private static String keyText(Object key) {
        if (key instanceof Enum<?> x) {
            return x.name();
        }
        if (!(key instanceof CharSequence)
            && (key == null || !KEYS.containsKey(key.getClass()) || key.getClass() == Object.class)) {
            throw LivebufException.of(ErrorKind.BAD_VALUE, "a map has a key of Java type %s: make a String of it",
                key == null ? "null" : key.getClass().getTypeName());
        }
        return key.toString();
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Codec ofMap(Spec type, Map<Spec, Codec> made) {
        Class<?> raw = type.raw;
        Class<?> keys = type.argument(Map.class, 0).raw;
        Codec element = codec(type.argument(Map.class, 1), made);
        Put<Map<?, ?>> put = (e, map) -> {
            if (map.size() > MAX_FIELDS && element instanceof ObjectCodec) {
                e.beginProbableMapOfRows();
            } else {
                e.beginObject();
            }
            for (Map.Entry<?, ?> x : map.entrySet()) {
                e.key(keyText(x.getKey()));
                put(element, e, x.getValue());
            }
            e.endObject();
        };
        Function<String, Object> toKey = keys.isEnum() ? x -> Enum.valueOf((Class) keys, x) : KEYS.get(keys);
        IntFunction<Object> make = raw.isAssignableFrom(LinkedHashMap.class) ? n -> new LinkedHashMap<>()
            : raw == EnumMap.class && keys.isEnum() ? n -> new EnumMap(keys)
            : maker(raw, TreeMap.class, ConcurrentHashMap.class, ConcurrentSkipListMap.class);
        return new Codec(put, (d, v) -> {
            if (v.tag != TAG_OBJECT) {
                throw misfit(v, raw);
            }
            Map<Object, Object> map = (Map<Object, Object>) make.apply(0);
            if (map == null || toKey == null) {
                throw unmade(map == null ? raw : keys);
            }
            d.enter(v);
            Read.Members it = new Read.Members(v);
            while (it.next()) {
                String key = d.key(v, it);
                try {
                    d.pay(1, 32, v);
                    Object value = take(element, d, it.value);
                    try {
                        map.put(toKey.apply(key), value);
                    } catch (RuntimeException x) {
                        throw refused(raw, x);
                    }
                } catch (LivebufException x) {
                    throw within(x, key);
                }
            }
            d.pay(it.skipped, 0, v);
            d.leave();
            return map;
        });
    }

    // --- records and beans

    /** A component of a record, or a field of a bean. */
    private static final class Part {
        final String name;
        final Key key;
        final boolean omitsEmpty;
        final Class<?> type;
        final MethodHandle get; // of the object, as (Object)long, (Object)double, (Object)boolean or (Object)Object
        final MethodHandle set; // of a bean, (Object, Object)void
        final Class<?> kind; // which of them it is
        Codec codec;

        Part(String name, Mapped mapped, Class<?> type, MethodHandle get, MethodHandle set) {
            this.name = mapped == null || mapped.value().isEmpty() ? name : mapped.value();
            this.key = Key.of(this.name);
            this.omitsEmpty = mapped != null && mapped.omitEmpty();
            this.type = type;
            kind = type == boolean.class ? boolean.class : type == double.class || type == float.class ? double.class
                : type.isPrimitive() && type != char.class ? long.class : Object.class;
            this.get = get.asType(MethodType.methodType(kind, Object.class));
            this.set = set == null ? null : set.asType(MethodType.methodType(void.class, Object.class, Object.class));
        }

        void put(Encoder e, Object object) throws Throwable {
            if (kind == long.class) {
                long x = (long) get.invokeExact(object);
                if (key(e, x == 0)) {
                    e.integer(x);
                }
            } else if (kind == double.class) {
                double x = (double) get.invokeExact(object);
                if (key(e, x == 0)) {
                    e.number(x);
                }
            } else if (kind == boolean.class) {
                boolean x = (boolean) get.invokeExact(object);
                if (key(e, !x)) {
                    e.bool(x);
                }
            } else {
                Object x = (Object) get.invokeExact(object);
                if (key(e, omitsEmpty && isEmpty(x))) {
                    Mapper.put(codec, e, x);
                }
            }
        }

        /** Adds the key; false if the member is left out. */
        private boolean key(Encoder e, boolean isEmpty) {
            if (isEmpty && omitsEmpty) {
                return false;
            }
            e.key(key.utf8, 0, key.utf8.length);
            return true;
        }

        @Nullable Object take(Decoder d, Value v) {
            try {
                Object x = Mapper.take(codec, d, v);
                return x == null && type.isPrimitive() ? zero() : x;
            } catch (LivebufException x) {
                throw within(x, name);
            }
        }

        /** What stands for a member that is not there. */
        @Nullable Object absent() {
            return type.isPrimitive() ? zero() : codec.absent();
        }

        private Object zero() {
            return Array.get(Array.newInstance(type, 1), 0);
        }

        private static boolean isEmpty(@Nullable Object x) {
            return x == null || x instanceof CharSequence text && text.length() == 0
                || x instanceof Collection<?> all && all.isEmpty() || x instanceof Map<?, ?> map && map.isEmpty()
                || x instanceof Optional<?> o && o.isEmpty() || x instanceof OptionalInt i && i.isEmpty()
                || x instanceof OptionalLong l && l.isEmpty() || x instanceof OptionalDouble d && d.isEmpty()
                || x instanceof Boolean b && !b || x instanceof Number n && n.doubleValue() == 0
                || x.getClass().isArray() && Array.getLength(x) == 0;
        }
    }

    private static final class ObjectCodec extends Codec {
        private final Class<?> raw;
        private final Part[] parts;
        private final MethodHandle constructor; // of a record (Object[])Object, of a bean ()Object, or null

        ObjectCodec(Spec type, Map<Spec, Codec> made) {
            super(null, null);
            raw = type.raw;
            put = this::put;
            take = this::take;
            made.put(type, this);
            if (raw.isPrimitive() || raw.isHidden() || raw.getName().startsWith("java.")) {
                throw LivebufException.of(ErrorKind.BAD_VALUE, "a value of Java type %s is no value of a document: "
                    + "leave it out by @Mapped(skip = true)", raw.getTypeName());
            }
            try {
                List<Part> all = new ArrayList<>();
                constructor = raw.isRecord() ? components(type, all, made) : fields(type, all, made);
                parts = all.toArray(new Part[0]);
            } catch (IllegalAccessException | NoSuchMethodException x) {
                throw LivebufException.of(ErrorKind.BAD_VALUE, "Java type %s cannot be used: %s", raw.getTypeName(), x);
            }
        }

        private static void open(AccessibleObject x, Class<?> type) {
            if (!x.trySetAccessible()) {
                throw LivebufException.of(ErrorKind.BAD_VALUE, "Java type %s is closed to this library: let its module "
                    + "say `opens %s to io.github.livebuf`", type.getTypeName(), type.getPackageName());
            }
        }

        private static MethodHandle components(Spec type, List<Part> all, Map<Spec, Codec> made)
            throws IllegalAccessException, NoSuchMethodException {
            RecordComponent[] components = type.raw.getRecordComponents();
            Class<?>[] types = new Class<?>[components.length];
            int[] taken = new int[components.length];
            for (int i = 0; i < components.length; i++) {
                RecordComponent c = components[i];
                types[i] = c.getType();
                Mapped mapped = c.getAnnotation(Mapped.class);
                taken[i] = -1;
                if (mapped == null || !mapped.skip()) {
                    open(c.getAccessor(), type.raw);
                    taken[i] = all.size();
                    MethodHandle get = MethodHandles.lookup().unreflect(c.getAccessor());
                    add(all, new Part(c.getName(), mapped, types[i], get, null), c.getGenericType(), type, made);
                }
            }
            Constructor<?> constructor = type.raw.getDeclaredConstructor(types);
            open(constructor, type.raw);
            MethodHandle h = MethodHandles.lookup().unreflectConstructor(constructor);
            for (int i = components.length - 1; i >= 0; i--) {
                if (taken[i] < 0) { // 0, false or null
                    Object zero = Array.get(Array.newInstance(types[i], 1), 0);
                    h = MethodHandles.insertArguments(h, i, zero);
                }
            }
            return h.asSpreader(Object[].class, all.size()).asType(MethodType.methodType(Object.class, Object[].class));
        }

        private static MethodHandle fields(Spec type, List<Part> all, Map<Spec, Codec> made)
            throws IllegalAccessException {
            List<Class<?>> classes = new ArrayList<>();
            for (Class<?> c = type.raw; c != null && c != Object.class; c = c.getSuperclass()) {
                classes.add(0, c);
            }
            for (Class<?> c : classes) {
                for (Field f : c.getDeclaredFields()) {
                    Mapped mapped = f.getAnnotation(Mapped.class);
                    int modifiers = f.getModifiers();
                    if (Modifier.isStatic(modifiers) || Modifier.isTransient(modifiers) || f.isSynthetic()
                        || mapped != null && mapped.skip()) {
                        continue;
                    }
                    open(f, type.raw);
                    MethodHandle get = MethodHandles.lookup().unreflectGetter(f);
                    MethodHandle set = MethodHandles.lookup().unreflectSetter(f);
                    add(all, new Part(f.getName(), mapped, f.getType(), get, set), f.getGenericType(), type, made);
                }
            }
            return constructor(type.raw);
        }

        private static void add(List<Part> all, Part part, Type type, Spec of, Map<Spec, Codec> made) {
            for (Part other : all) {
                if (other.name.equals(part.name)) {
                    throw LivebufException.of(ErrorKind.BAD_VALUE,
                        "Java type %s has two members of the name \"%s\": give one another by @Mapped", of, part.name);
                }
            }
            try {
                part.codec = codec(Spec.of(type, of.known()), made);
            } catch (LivebufException x) {
                throw within(x, part.name);
            }
            all.add(part);
        }

        private void put(Encoder e, Object x) {
            if (x.getClass() != raw && raw.isInstance(x)) {
                any(e, x); // one of a subclass
                return;
            }
            e.beginObject();
            try {
                for (Part part : parts) {
                    part.put(e, x);
                }
            } catch (RuntimeException | Error thrown) {
                throw thrown;
            } catch (Throwable thrown) {
                throw LivebufException.of(ErrorKind.BAD_VALUE, "a method of Java type %s failed: %s",
                    raw.getTypeName(), thrown);
            }
            e.endObject();
        }

        private Object take(Decoder d, Value v) {
            if (v.tag != TAG_OBJECT) {
                throw misfit(v, raw);
            }
            d.enter(v);
            Value[] members = new Value[parts.length];
            for (int i = 0; i < parts.length; i++) {
                members[i] = v.get(parts[i].key);
            }
            Object object = make(d, members);
            d.leave();
            return object;
        }

        /** An object of members, of which some may be missing. */
        private Object make(Decoder d, Value[] members) {
            if (constructor == null) {
                throw unmade(raw);
            }
            Object[] values = new Object[parts.length];
            for (int i = 0; i < parts.length; i++) {
                if (members[i].tag != TAG_NOTHING) {
                    values[i] = parts[i].take(d, members[i]);
                } else if (raw.isRecord()) {
                    values[i] = parts[i].absent();
                }
            }
            try {
                if (raw.isRecord()) {
                    return (Object) constructor.invokeExact(values);
                }
                Object object = (Object) constructor.invokeExact();
                for (int i = 0; i < parts.length; i++) {
                    if (members[i].tag != TAG_NOTHING) {
                        parts[i].set.invokeExact(object, values[i]);
                    }
                }
                return object;
            } catch (Throwable x) {
                throw refused(raw, x);
            }
        }

        /** Adds objects of the rows of a table; false if the array is none, or its rows have more members. */
        boolean takeRows(Decoder d, Value v, Collection<@Nullable Object> all) {
            if (v.form != Value.ARRAY) {
                return false;
            }
            Read.Head c = Read.column(v.doc.m, v.at);
            Decoder.Rows rows = Decoder.Rows.of(v, c);
            if (rows == null) {
                return false;
            }
            d.pay(rows.columns.length, 0, v);
            Read.Head[] columns = new Read.Head[parts.length];
            for (int i = 0; i < parts.length; i++) {
                columns[i] = rows.column(parts[i].key);
            }
            d.enter(v);
            Value[] members = new Value[parts.length];
            for (int i = 0; i < v.count(); i++) {
                long row = v.first() + i;
                try {
                    if (!rows.isThere(row)) {
                        addTo(all, Mapper.take(this, d, Read.slot(v.doc, c, row)), v);
                        continue;
                    }
                    for (int j = 0; j < parts.length; j++) {
                        members[j] = columns[j] == null ? Value.MISSING : Read.slot(v.doc, columns[j], row);
                    }
                    d.enter(v);
                    addTo(all, make(d, members), v);
                    d.leave();
                } catch (LivebufException x) {
                    throw within(x, Integer.toString(i));
                }
            }
            d.leave();
            return true;
        }
    }
}
