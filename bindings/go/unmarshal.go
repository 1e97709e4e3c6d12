package livebuf

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Unmarshal reads a document into a value of Go, which v points to; see Value.Decode.
func Unmarshal(data []byte, v any) error {
	d, err := Open(data)
	if err != nil {
		return err
	}
	return d.Root().Decode(v)
}

// Decode reads a value into one of Go, which to points to: what Marshal makes a document of, in the other direction.
// All is copied, but a Value, which refers to the document.
//
// Members of an object go to the fields of their names, exactly as they are spelt. Other members are not read, and
// fields without a member stay as they are. Null makes nil of pointers, interfaces, maps and slices, goes to the method
// UnmarshalJSON of what has one, and leaves others as they are. An interface gets what Any returns, and []byte also
// takes text in base64. A slice is made anew; an array that is longer than an array of Go is an error.
//
// Dates, times and UUIDs are read from their texts, too, and go to a string or an UnmarshalText as such. A Decimal is
// also read from any other number, and a time.Time from a date, or a date and time, in UTC.
//
// Integers are exact: a number that the wanted type does not hold is an error. Floats are rounded to the nearest one,
// and only too large numbers are errors. The error has the path to the value. It is of kind ErrWrongType,
// ErrBudgetExceeded (a small document that stands for very much), or the kind of damage.
func (v Value) Decode(to any) error {
	r := reflect.ValueOf(to)
	if r.Kind() != reflect.Pointer || r.IsNil() {
		return errorf(ErrBadValue, "livebuf can decode into what a pointer leads to, and not into a %T", to)
	}
	if err := v.Err(); err != nil {
		return err
	}
	d := decoder{builder: builder{keys: map[string]string{}}}
	d.values, d.bytes = v.doc.allowance()
	d.bytes += 1 << 20
	return codecOf(r.Type().Elem()).decode(&d, v, r.Elem())
}

// decoder makes no more than a document can reasonably stand for.
type decoder struct {
	builder
	depth int
}

// misfit is the error of a value that is not of the wanted type.
func misfit(v Value, t reflect.Type) error {
	if err := v.Err(); err != nil {
		return err
	}
	if v.Kind() >= KindInt && v.Kind() <= KindNumberText || v.Kind() == KindDecimal {
		return errorf(ErrWrongType, "the number %.60s, of kind %v, does not fit Go type %v", v, v.Kind(), t)
	}
	return errorf(ErrWrongType, "the value is of kind %v, which does not fit Go type %v", v.Kind(), t)
}

// within adds a step to the path of an error.
func within(err error, step string) error { return under(err, string(appendStep(nil, step))) }

// under adds a pointer before the path of an error.
func under(err error, pointer string) error {
	if x, ok := err.(*Error); ok {
		x.Path = pointer + x.Path
	}
	return err
}

type decodeFunc = func(d *decoder, v Value, to reflect.Value) error

// scalarDecoder decodes by one of the methods of Value.
func scalarDecoder[T any](get func(v Value) (T, error)) decodeFunc {
	return func(_ *decoder, v Value, to reflect.Value) error {
		x, err := get(v)
		if err != nil {
			return misfit(v, to.Type())
		}
		*to.Addr().Interface().(*T) = x
		return nil
	}
}

// orText is scalarDecoder for types that have a text, which is taken, too.
func orText[T any](get func(v Value) (T, error)) decodeFunc {
	decode := scalarDecoder(get)
	return func(d *decoder, v Value, to reflect.Value) error {
		if v.tag == tagText {
			return decodeText(d, v, to)
		}
		return decode(d, v, to)
	}
}

var specialDecoders = map[reflect.Type]decodeFunc{
	reflect.TypeFor[Value](): scalarDecoder(func(v Value) (Value, error) { return v, nil }),
	reflect.TypeFor[RawValue](): func(d *decoder, v Value, to reflect.Value) error {
		raw, err := v.Raw()
		if err == nil {
			err = d.pay(1, len(raw), v.at)
		}
		to.SetBytes(raw)
		return err
	},
	reflect.TypeFor[time.Time](): orText(func(v Value) (time.Time, error) {
		switch v.tag {
		case tagDate:
			return Date(v.bits).Time(), nil
		case tagDateTime:
			return DateTime(v.bits).In(time.UTC), nil
		}
		return v.Time()
	}),
	reflect.TypeFor[Date]():      orText(Value.Date),
	reflect.TypeFor[TimeOfDay](): orText(Value.TimeOfDay),
	reflect.TypeFor[DateTime]():  orText(Value.DateTime),
	reflect.TypeFor[Decimal](): orText(func(v Value) (Decimal, error) {
		if v.tag == tagDecimal || v.tag == tagLargeDecimal {
			return v.Decimal()
		}
		number, err := v.Number()
		if err != nil {
			return Decimal{}, err
		}
		return ParseDecimal(string(number))
	}),
	reflect.TypeFor[UUID](): orText(Value.UUID),
	reflect.TypeFor[json.Number](): func(d *decoder, v Value, to reflect.Value) error {
		number, err := v.Number()
		if v.tag == tagText && isNumber(v.spanBytes()) {
			number, err = json.Number(v.spanBytes()), nil
		}
		if err != nil {
			return misfit(v, to.Type())
		}
		to.SetString(string(number))
		return d.pay(1, len(number), v.at)
	},
}

// decode makes the function that decodes values of a type. Null is left to those that take it.
func (m maker) decode(t reflect.Type) decodeFunc {
	plain := m.decodeKind(t)
	if special := specialDecoders[t]; special != nil {
		plain = special
	} else if p := reflect.PointerTo(t); p.Implements(jsonUnmarshaler) {
		return decodeJSON
	} else if p.Implements(textUnmarshaler) {
		plain = decodeText
	}
	if t == reflect.TypeFor[Value]() || t == reflect.TypeFor[RawValue]() {
		return plain
	}
	return func(d *decoder, v Value, to reflect.Value) error {
		if v.tag != tagNull {
			return plain(d, v, to)
		}
		switch to.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
			to.SetZero()
		}
		return nil
	}
}

func decodeJSON(d *decoder, v Value, to reflect.Value) error {
	text, err := v.MarshalJSON()
	if err == nil {
		err = d.pay(1, len(text), v.at)
	}
	if err == nil {
		if err = to.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(text); err != nil {
			err = errorf(ErrWrongType, "a method of Go type %v refused the value: %v", to.Type(), err)
		}
	}
	return err
}

func decodeText(d *decoder, v Value, to reflect.Value) error {
	text, ok := textIn(v)
	if !ok {
		return misfit(v, to.Type())
	}
	if err := to.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text); err != nil {
		return errorf(ErrWrongType, "a method of Go type %v refused the text: %v", to.Type(), err)
	}
	return d.pay(1, len(text), v.at)
}

// textIn is a text, or that of a date, a time or a UUID. Bytes in base64 are none.
func textIn(v Value) ([]byte, bool) {
	if v.tag == tagText {
		return v.spanBytes(), true
	}
	if v.tag != tagUUID && (v.tag < tagTimestamp || v.tag > tagDateTime) {
		return nil, false
	}
	text, err := v.MarshalJSON()
	return bytes.Trim(text, `"`), err == nil
}

func (m maker) decodeKind(t reflect.Type) decodeFunc {
	switch t.Kind() {
	case reflect.Bool:
		return func(_ *decoder, v Value, to reflect.Value) error {
			x, err := v.Bool()
			if err != nil {
				return misfit(v, t)
			}
			to.SetBool(x)
			return nil
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(_ *decoder, v Value, to reflect.Value) error {
			if v.tag != tagInt || to.OverflowInt(int64(v.bits)) {
				return misfit(v, t)
			}
			to.SetInt(int64(v.bits))
			return nil
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return func(_ *decoder, v Value, to reflect.Value) error {
			x, err := v.Uint64()
			if err != nil || to.OverflowUint(x) {
				return misfit(v, t)
			}
			to.SetUint(x)
			return nil
		}
	case reflect.Float32, reflect.Float64:
		return func(_ *decoder, v Value, to reflect.Value) error {
			x, err := v.Float64()
			if err != nil || t.Kind() == reflect.Float32 && math.IsInf(float64(float32(x)), 0) && !math.IsInf(x, 0) {
				return misfit(v, t)
			}
			to.SetFloat(x)
			return nil
		}
	case reflect.String:
		return func(d *decoder, v Value, to reflect.Value) error {
			text, ok := textIn(v)
			if !ok {
				return misfit(v, t)
			}
			to.SetString(string(text))
			return d.pay(1, len(text), v.at)
		}
	case reflect.Interface:
		return decodeInterface
	case reflect.Pointer:
		element := m.codec(t.Elem())
		return func(d *decoder, v Value, to reflect.Value) error {
			if err := d.make(v, to); err != nil {
				return err
			}
			return element.decode(d, v, to.Elem())
		}
	case reflect.Slice:
		return m.decodeSlice(t)
	case reflect.Array:
		element := m.codec(t.Elem())
		return func(d *decoder, v Value, to reflect.Value) error {
			if v.form != formArray || v.Len() > t.Len() {
				return misfit(v, t)
			}
			to.SetZero()
			return decodeElements(d, v, to, element)
		}
	case reflect.Map:
		return m.decodeMap(t)
	case reflect.Struct:
		return decodeStruct(t, m.fields(t))
	}
	return func(_ *decoder, v Value, to reflect.Value) error { return misfit(v, t) }
}

// make makes what a pointer leads to, if it leads to nothing.
func (d *decoder) make(v Value, pointer reflect.Value) error {
	if !pointer.IsNil() {
		return nil
	}
	to := pointer.Type().Elem()
	pointer.Set(reflect.New(to))
	return d.pay(0, int(to.Size()), v.at)
}

func decodeInterface(d *decoder, v Value, to reflect.Value) error {
	if to.NumMethod() > 0 {
		return misfit(v, to.Type())
	}
	x, err := d.builder.value(v, d.depth)
	if err == nil {
		to.Set(reflect.ValueOf(x))
	}
	return err
}

func (m maker) decodeSlice(t reflect.Type) decodeFunc {
	element, size := m.codec(t.Elem()), int(t.Elem().Size())
	isBytes := t.Elem().Kind() == reflect.Uint8
	return func(d *decoder, v Value, to reflect.Value) error {
		switch {
		case isBytes && v.tag == tagBytes:
			to.SetBytes(slices.Clone(v.spanBytes()))
			return d.pay(1, int(v.bits), v.at)
		case isBytes && v.tag == tagText:
			data, err := base64.StdEncoding.AppendDecode(nil, v.spanBytes())
			if err != nil {
				return misfit(v, t)
			}
			to.SetBytes(data)
			return d.pay(1, int(v.bits), v.at)
		case v.form != formArray:
			return misfit(v, t)
		}
		if err := d.pay(v.Len()+1, v.Len()*size, v.at); err != nil {
			return err
		}
		to.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
		return decodeElements(d, v, to, element)
	}
}

// enter goes into a container. A damaged document may lead in circles.
func (d *decoder) enter(v Value) error {
	if d.depth++; d.depth > maxNesting {
		return fault{ErrNestingLimit, v.at}.err()
	}
	return nil
}

func decodeElements(d *decoder, v Value, to reflect.Value, element *codec) error {
	if err := d.enter(v); err != nil {
		return err
	}
	for i, x := range v.Elements() {
		if err := element.decode(d, x, to.Index(i)); err != nil {
			return within(err, strconv.Itoa(i))
		}
	}
	d.depth--
	return nil
}

func (m maker) decodeMap(t reflect.Type) decodeFunc {
	element, size := m.codec(t.Elem()), int(t.Elem().Size())
	isText := t.Key().Kind() == reflect.String && !reflect.PointerTo(t.Key()).Implements(textUnmarshaler)
	return func(d *decoder, v Value, to reflect.Value) error {
		if v.tag != tagObject {
			return misfit(v, t)
		}
		if err := d.enter(v); err != nil {
			return err
		}
		if to.IsNil() {
			to.Set(reflect.MakeMap(t))
		}
		it := v.members()
		for it.next() {
			err := d.pay(1, len(it.key)+size, v.at)
			x, key := reflect.New(t.Elem()).Elem(), reflect.New(t.Key()).Elem()
			if err == nil {
				err = element.decode(d, it.value, x)
			}
			if isText {
				key.SetString(string(it.key))
			} else if err == nil {
				err = setMapKey(key, string(it.key))
			}
			if err != nil {
				return within(err, string(it.key))
			}
			to.SetMapIndex(key, x)
		}
		d.depth--
		return d.pay(it.skipped+1, 0, v.at)
	}
}

// setMapKey reads the key of a map that is not just a text.
func setMapKey(to reflect.Value, text string) error {
	var err error
	if x, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok {
		err = x.UnmarshalText([]byte(text))
	} else if to.CanInt() {
		var x int64
		x, err = strconv.ParseInt(text, 10, to.Type().Bits())
		to.SetInt(x)
	} else if to.CanUint() {
		var x uint64
		x, err = strconv.ParseUint(text, 10, to.Type().Bits())
		to.SetUint(x)
	} else {
		return errorf(ErrWrongType, "the keys of a map are of Go type %v, which no text fits", to.Type())
	}
	if err != nil {
		return errorf(ErrWrongType, "the key %.60q does not fit Go type %v", text, to.Type())
	}
	return nil
}

func decodeStruct(t reflect.Type, fields []field) decodeFunc {
	return func(d *decoder, v Value, to reflect.Value) error {
		if v.tag != tagObject {
			return misfit(v, t)
		}
		if err := d.enter(v); err != nil {
			return err
		}
		if err := d.pay(1, 0, v.at); err != nil {
			return err
		}
		for i := range fields {
			f := &fields[i]
			member := v.GetKey(f.key)
			if member.tag == tagNothing && member.form != formBroken {
				continue
			}
			x, err := d.fieldToSet(v, to, f.index)
			if err == nil {
				err = f.codec.decode(d, member, x)
			}
			if err != nil {
				return within(err, f.name)
			}
		}
		d.depth--
		return nil
	}
}

// fieldToSet is a field of a struct, or of one embedded in it.
func (d *decoder) fieldToSet(v Value, to reflect.Value, index []int) (reflect.Value, error) {
	for i, inner := range index {
		if i > 0 && to.Kind() == reflect.Pointer {
			if to.IsNil() && !to.CanSet() {
				return to, errorf(ErrWrongType, "an embedded pointer to Go type %v cannot be set: export the type",
					to.Type().Elem())
			}
			if err := d.make(v, to); err != nil {
				return to, err
			}
			to = to.Elem()
		}
		to = to.Field(inner)
	}
	return to, nil
}
