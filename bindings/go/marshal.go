package livebuf

import (
	"encoding"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Marshal encodes a value of Go as a document; see Encode.
func Marshal(v any) ([]byte, error) { return Encode(v) }

// Encode encodes a value of Go as a document, and returns its bytes: those of the profile livebuf-1 (docs/PROFILE.md),
// which are the same in every language. It takes O(size of the value).
//
// Bools, strings, integers, floats: as they are, so an integer stays an integer and a float a float. []byte: bytes.
// Slices and arrays: arrays, of which similar objects become columns. Maps: objects, with sorted keys; keys are
// strings, integers or encoding.TextMarshaler. time.Time: a timestamp, cut to microseconds. Date, TimeOfDay, DateTime,
// Decimal, UUID, Value, Handle, Document, File, Editor and RawValue: what they are. json.Number: the number, exactly.
// Other types with a MarshalJSON or a MarshalText: what that returns. Pointers and interfaces: what they lead to. Nil:
// null.
//
// Structs: objects of their exported fields, in their order. The tag `livebuf:"name,omitempty"` or, where there is
// none, `json:"name,omitempty"` names a field as in package encoding/json, "-" leaves it out, omitempty does so where
// it is empty, and omitzero where it is zero or its method IsZero says so. The option "string" of that package has no
// effect. Fields of embedded structs are those of the outer one.
//
// The error has the path to the value. It is of kind ErrBadValue (channels, functions, complex numbers, times beyond
// the years 1 to 9999), ErrBadText (strings that are not UTF-8), ErrBadNumber (a json.Number), ErrNestingLimit (more
// than 1,000 containers within each other, also where a value holds itself), ErrDocumentLimit or ErrStringLimit.
func Encode(v any, options ...Option) ([]byte, error) { return run(options, v, (*encoder).any) }

// any adds a value of Go. The most usual types need no reflection.
func (e *encoder) any(v any) {
	switch v := v.(type) {
	case nil:
		e.push(tagNull, 0)
	case bool:
		e.bool(v)
	case string:
		e.text(v)
	case int:
		e.integer(int64(v))
	case int64:
		e.integer(v)
	case float64:
		e.push(tagFloat, math.Float64bits(v))
	case []any:
		if v == nil {
			e.push(tagNull, 0)
			return
		}
		e.beginArray()
		for _, x := range v {
			e.any(x)
		}
		e.endArray()
	case map[string]any:
		if v == nil {
			e.push(tagNull, 0)
			return
		}
		e.beginObject()
		for _, key := range slices.Sorted(maps.Keys(v)) {
			e.goKey(key)
			e.any(v[key])
		}
		e.endObject()
	default:
		r := reflect.ValueOf(v)
		if t := r.Type(); t != e.lastType {
			e.lastType, e.lastCodec = t, codecOf(t)
		}
		e.lastCodec.encode(e, r)
	}
}

func (e *encoder) bool(x bool) {
	if x {
		e.push(tagTrue, 0)
	} else {
		e.push(tagFalse, 0)
	}
}

// text adds a string of Go, which may hold anything, and may be a date, a time or a UUID.
func (e *encoder) text(text string) {
	if n := len(text); n <= 7 {
		if cell := textStart(text) | uint64(0x80+n)<<56; cell&(highs>>8) == 0 { // ASCII, and too short for a date
			e.push(tagText, cell)
			return
		}
	}
	if !e.recognize || !e.recognized(bytesOf(text)) {
		e.string(bytesOf(e.utf8(text)))
	}
}

// number adds a json.Number.
func (e *encoder) number(text string) {
	if text == "" {
		text = "0" // as package encoding/json has it
	}
	if !isNumber([]byte(text)) {
		fail(ErrBadNumber, "the json.Number %.60q is no number", text)
	}
	r := jsonReader{e: e, text: []byte(text)}
	r.number()
}

// codec says how values of a type of Go are encoded and decoded.
type codec struct {
	encode func(e *encoder, v reflect.Value)
	decode func(d *decoder, v Value, to reflect.Value) error
}

var (
	codecs      sync.Map // by their types
	building    sync.Mutex
	structCount int // structs whose codecs were made
)

// codecOf is the codec of a type, which is made once.
func codecOf(t reflect.Type) *codec {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec)
	}
	building.Lock()
	defer building.Unlock()
	m := maker{}
	c := m.codec(t)
	for t, c := range m { // all are complete now
		codecs.Store(t, c)
	}
	return c
}

// maker has the codecs that are being made, since types may contain themselves.
type maker map[reflect.Type]*codec

func (m maker) codec(t reflect.Type) *codec {
	if c, ok := codecs.Load(t); ok {
		return c.(*codec)
	}
	if m[t] == nil {
		c := &codec{}
		m[t] = c
		c.encode, c.decode = m.encode(t), m.decode(t)
	}
	return m[t]
}

// special is the function of a type that a value of this package, or of the standard library, has.
func special[T any](add func(e *encoder, x T)) func(e *encoder, v reflect.Value) {
	return func(e *encoder, v reflect.Value) {
		if v.CanAddr() { // spares a copy
			add(e, *v.Addr().Interface().(*T))
		} else {
			add(e, v.Interface().(T))
		}
	}
}

var specialEncoders = map[reflect.Type]func(e *encoder, v reflect.Value){
	reflect.TypeFor[Value]():    special((*encoder).value),
	reflect.TypeFor[Document](): special(func(e *encoder, d Document) { e.value(d.Root()) }),
	reflect.TypeFor[File]():     special(func(e *encoder, f File) { e.value(f.Root()) }),
	reflect.TypeFor[Editor]():   special(func(e *encoder, x Editor) { e.value(x.Root()) }),
	reflect.TypeFor[Handle]():   special(func(e *encoder, h Handle) { e.value(h.Value()) }),
	reflect.TypeFor[RawValue](): special((*encoder).raw),
	reflect.TypeFor[time.Time](): special(func(e *encoder, t time.Time) {
		if s := t.Unix(); s < minDay*86_400 || s >= (maxDay+1)*86_400 {
			fail(ErrBadValue, "the time %v is beyond the years 1 to 9999", t)
		}
		e.push(tagTimestamp, uint64(t.UnixMicro()))
	}),
	reflect.TypeFor[Date](): special(func(e *encoder, d Date) { e.ranged(tagDate, int64(d), minDay, maxDay) }),
	reflect.TypeFor[TimeOfDay](): special(func(e *encoder, t TimeOfDay) {
		e.ranged(tagTime, int64(t), 0, dayMicros-1)
	}),
	reflect.TypeFor[DateTime](): special(func(e *encoder, t DateTime) {
		e.ranged(tagDateTime, int64(t), minDay*dayMicros, (maxDay+1)*dayMicros-1)
	}),
	reflect.TypeFor[Decimal](): special(func(e *encoder, d Decimal) {
		if d.Scale > maxScale || d.Coefficient().CmpAbs(decimalBound) >= 0 {
			fail(ErrBadValue, "the decimal has more than 38 digits, or a scale above 38")
		}
		e.decimal(d)
	}),
	reflect.TypeFor[UUID]():        special(func(e *encoder, u UUID) { e.span(tagUUID, u[:]) }),
	reflect.TypeFor[json.Number](): func(e *encoder, v reflect.Value) { e.number(v.String()) },
}

var decimalBound = new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)

func (e *encoder) ranged(tag uint8, x, low, high int64) {
	if x < low || x > high {
		fail(ErrBadValue, "a date, a time, or a date and time is beyond its limits: days of the years 1 to 9999")
	}
	e.push(tag, uint64(x))
}

func (e *encoder) raw(data RawValue) {
	if data == nil {
		e.push(tagNull, 0)
		return
	}
	d, err := Open(data)
	if err != nil {
		panic(encodeError{err})
	}
	e.value(d.Root())
}

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// encode makes the function that encodes values of a type.
func (m maker) encode(t reflect.Type) func(e *encoder, v reflect.Value) {
	if encode := specialEncoders[t]; encode != nil {
		return encode
	}
	if t.Kind() == reflect.Pointer && specialEncoders[t.Elem()] != nil {
		return m.encodeKind(t) // and not by methods of the pointer, which make text of it
	}
	for _, marshaler := range []reflect.Type{jsonMarshaler, textMarshaler} {
		if t.Implements(marshaler) {
			return encodeMarshaler
		}
		if t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(marshaler) {
			plain := m.encodeKind(t)
			return func(e *encoder, v reflect.Value) {
				if v.CanAddr() {
					encodeMarshaler(e, v.Addr())
				} else {
					plain(e, v)
				}
			}
		}
	}
	return m.encodeKind(t)
}

func (m maker) encodeKind(t reflect.Type) func(e *encoder, v reflect.Value) {
	switch t.Kind() {
	case reflect.Bool:
		return func(e *encoder, v reflect.Value) { e.bool(v.Bool()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(e *encoder, v reflect.Value) { e.integer(v.Int()) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return func(e *encoder, v reflect.Value) { e.unsigned(v.Uint()) }
	case reflect.Float32, reflect.Float64:
		return func(e *encoder, v reflect.Value) { e.push(tagFloat, math.Float64bits(v.Float())) }
	case reflect.String:
		return func(e *encoder, v reflect.Value) { e.text(v.String()) }
	case reflect.Interface:
		return deeper(func(e *encoder, v reflect.Value) { e.any(v.Elem().Interface()) })
	case reflect.Pointer:
		to := m.codec(t.Elem())
		return deeper(func(e *encoder, v reflect.Value) { to.encode(e, v.Elem()) })
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !isMarshaler(t.Elem()) {
			return orNull(func(e *encoder, v reflect.Value) { e.span(tagBytes, v.Bytes()) })
		}
		return orNull(encodeElements(m.codec(t.Elem()), plainKind(t.Elem()), t.Elem().Size()))
	case reflect.Array:
		return encodeElements(m.codec(t.Elem()), reflect.Invalid, 0)
	case reflect.Map:
		return m.encodeMap(t)
	case reflect.Struct:
		// Types of this package without a field to be seen, such as Partial, would be empty objects.
		if fields := m.fields(t); len(fields) > 0 || t.PkgPath() != reflect.TypeFor[Value]().PkgPath() {
			return encodeStruct(fields)
		}
	}
	return func(*encoder, reflect.Value) {
		fail(ErrBadValue, "a value of Go type %v is no value of a document: leave it out by the tag `livebuf:\"-\"`", t)
	}
}

// orNull encodes nil as null.
func orNull(encode func(e *encoder, v reflect.Value)) func(e *encoder, v reflect.Value) {
	return func(e *encoder, v reflect.Value) {
		if v.IsNil() {
			e.push(tagNull, 0)
		} else {
			encode(e, v)
		}
	}
}

// deeper is orNull for pointers and interfaces, which may lead to themselves.
func deeper(encode func(e *encoder, v reflect.Value)) func(e *encoder, v reflect.Value) {
	return orNull(func(e *encoder, v reflect.Value) {
		if e.depth++; e.depth > 4*maxNesting {
			e.tooDeep()
		}
		encode(e, v)
		e.depth--
	})
}

// encodeMarshaler encodes what a method returns, MarshalJSON rather than MarshalText.
func encodeMarshaler(e *encoder, v reflect.Value) {
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		e.push(tagNull, 0)
		return
	}
	var text []byte
	var err error
	switch x := v.Interface().(type) {
	case json.Marshaler:
		if text, err = x.MarshalJSON(); err == nil {
			e.json(text)
			return
		}
	case encoding.TextMarshaler:
		if text, err = x.MarshalText(); err == nil {
			e.text(string(text))
			return
		}
	}
	var own *Error
	if errors.As(err, &own) {
		panic(encodeError{err})
	}
	fail(ErrBadValue, "a method of Go type %v that marshals it failed: %v", v.Type(), err)
}

// encodeElements encodes arrays and slices, and faster slices of a plain kind of so many bytes.
func encodeElements(to *codec, kind reflect.Kind, size uintptr) func(e *encoder, v reflect.Value) {
	return func(e *encoder, v reflect.Value) {
		e.beginArray()
		for i := range v.Len() {
			if kind != reflect.Invalid {
				e.plain(kind, v.UnsafePointer(), uintptr(i)*size)
			} else {
				to.encode(e, v.Index(i))
			}
		}
		e.endArray()
	}
}

func (m maker) encodeMap(t reflect.Type) func(e *encoder, v reflect.Value) {
	to, element := m.codec(t.Elem()), t.Elem()
	if element.Kind() == reflect.Pointer {
		element = element.Elem()
	}
	type member struct {
		key   string
		value reflect.Value
	}
	return orNull(func(e *encoder, v reflect.Value) {
		members := make([]member, 0, v.Len())
		for it := v.MapRange(); it.Next(); {
			members = append(members, member{mapKeyText(it.Key()), it.Value()})
		}
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
		if len(members) > maxFields && element.Kind() == reflect.Struct && !e.waits() && !e.noTables {
			e.beginMapOfRows() // a guess; where it is wrong, the document is encoded anew
		} else {
			e.beginObject()
		}
		for _, x := range members {
			e.goKey(x.key)
			to.encode(e, x.value)
		}
		e.endObject()
	})
}

// mapKeyText is the text of the key of a map.
func mapKeyText(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return v.String()
	}
	if x, ok := v.Interface().(encoding.TextMarshaler); ok {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return ""
		}
		text, err := x.MarshalText()
		if err != nil {
			fail(ErrBadValue, "a method of Go type %v that marshals it failed: %v", v.Type(), err)
		}
		return string(text)
	}
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	}
	fail(ErrBadValue, "the keys of a map are of Go type %v: make strings of them", v.Type())
	return ""
}

// field is a field of a struct that is a member of an object.
type field struct {
	name      string
	key       *Key
	index     []int // more than one of a field of an embedded struct
	codec     *codec
	goType    reflect.Type
	offset    uintptr      // where it is in the struct
	plain     reflect.Kind // its kind, if that is all that says how it is encoded; else Invalid
	isTagged  bool
	omitEmpty bool
	isZero    func(v reflect.Value) bool // says whether omitzero leaves it out; nil where there is no omitzero
}

// fields is the fields of a struct and of those embedded in it, by the rules of package encoding/json: of several of
// one name the one in the fewest structs counts, or of these the only one with a tag, or none.
func (m maker) fields(t reflect.Type) []field {
	type level struct {
		t     reflect.Type
		index []int
	}
	var all []field
	met := map[reflect.Type]bool{}
	for here := []level{{t: t}}; len(here) > 0; {
		var below []level
		for _, l := range here {
			met[l.t] = true
		}
		for _, l := range here {
			for i := range l.t.NumField() {
				f := l.t.Field(i)
				inner := f.Type
				if inner.Kind() == reflect.Pointer && f.Anonymous {
					inner = inner.Elem()
				}
				tag, ok := f.Tag.Lookup("livebuf")
				if !ok {
					tag = f.Tag.Get("json")
				}
				isEmbedded := f.Anonymous && inner.Kind() == reflect.Struct
				if tag == "-" || !f.IsExported() && !isEmbedded {
					continue
				}
				name, rest, _ := strings.Cut(strings.ToValidUTF8(tag, "\ufffd"), ",")
				index := append(slices.Clone(l.index), i)
				if name == "" && isEmbedded {
					if !met[inner] {
						below = append(below, level{inner, index})
					}
					continue
				}
				if !f.IsExported() {
					continue
				}
				rest = "," + rest + ","
				x := field{name: name, isTagged: name != "", index: index, goType: f.Type,
					omitEmpty: strings.Contains(rest, ",omitempty,")}
				if strings.Contains(rest, ",omitzero,") {
					x.isZero = zeroOf(f.Type)
				}
				if name == "" {
					x.name = f.Name
				}
				if len(index) == 1 && !x.omitEmpty && x.isZero == nil {
					x.offset, x.plain = f.Offset, plainKind(f.Type)
				}
				all = append(all, x)
			}
		}
		here = below
	}
	byName := map[string][]field{}
	for _, x := range all { // those of the fewest structs first
		byName[x.name] = append(byName[x.name], x)
	}
	var fields []field
	for _, same := range byName {
		var best []field
		for _, isTagged := range []bool{false, true} {
			if len(best) != 1 {
				best = nil
				for _, x := range same {
					if len(x.index) == len(same[0].index) && (x.isTagged || !isTagged) {
						best = append(best, x)
					}
				}
			}
		}
		if len(best) == 1 {
			fields = append(fields, best[0])
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	for i := range fields {
		f := &fields[i]
		f.key, f.codec = NewKey(f.name), m.codec(f.goType)
	}
	return fields
}

// isMarshaler says whether values of a type, or pointers to them, have a method that marshals them.
func isMarshaler(t reflect.Type) bool {
	all := reflect.PointerTo(t) // it has the methods of both
	return all.Implements(jsonMarshaler) || all.Implements(textMarshaler)
}

// plainKind is the kind of a type whose values are encoded by their kind alone; else Invalid.
func plainKind(t reflect.Type) reflect.Kind {
	if specialEncoders[t] != nil || isMarshaler(t) {
		return reflect.Invalid
	}
	switch kind := t.Kind(); kind {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64, reflect.String:
		return kind
	}
	return reflect.Invalid
}

func encodeStruct(fields []field) func(e *encoder, v reflect.Value) {
	number := structCount
	structCount++
	return func(e *encoder, v reflect.Value) {
		e.beginObject()
		depth, base := len(e.frames)-1, start(v)
		lists, isWhole := e.trie.way(number, len(fields)).lists, true
		for i := range fields {
			f := &fields[i]
			var x reflect.Value
			isPlain := base != nil && f.plain != reflect.Invalid
			if !isPlain {
				if x = f.of(v); !x.IsValid() {
					isWhole = false
					continue
				}
			}
			if list := lists[i]; isWhole && list != 0 {
				e.frames[depth].list = list
				e.trie.meet(list)
			} else {
				e.fieldKey(f, number, i, isWhole)
			}
			if isPlain {
				e.plain(f.plain, base, f.offset)
			} else {
				f.codec.encode(e, x)
			}
		}
		e.endObject()
	}
}

// of is the field of a struct; none where it is left out.
func (f *field) of(v reflect.Value) (none reflect.Value) {
	x := v.Field(f.index[0])
	for _, inner := range f.index[1:] {
		if x.Kind() == reflect.Pointer {
			if x.IsNil() {
				return none
			}
			x = x.Elem()
		}
		x = x.Field(inner)
	}
	if f.omitEmpty && isEmpty(x) || f.isZero != nil && f.isZero(x) {
		return none
	}
	return x
}

type zeroer interface{ IsZero() bool }

// zeroOf makes the function that says whether omitzero leaves a field of a type out: as the type's method IsZero has
// it, if there is one.
func zeroOf(t reflect.Type) func(v reflect.Value) bool {
	switch {
	case t.Implements(reflect.TypeFor[zeroer]()):
		return func(v reflect.Value) bool {
			if v.Kind() == reflect.Interface {
				v = v.Elem()
			}
			return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() || v.Interface().(zeroer).IsZero()
		}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[zeroer]()):
		return func(v reflect.Value) bool {
			if !v.CanAddr() {
				kept := reflect.New(t).Elem()
				kept.Set(v)
				v = kept
			}
			return v.Addr().Interface().(zeroer).IsZero()
		}
	}
	return reflect.Value.IsZero
}

// isEmpty says whether omitempty leaves a value out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
