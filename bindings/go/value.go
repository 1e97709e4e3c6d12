package livebuf

import (
	"encoding/json"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// Kind says what a value is.
type Kind uint8

// KindMissing is the kind of a value that is not there, or could not be read. Err tells the two apart.
const (
	KindMissing Kind = iota
	KindNull
	KindBool
	KindInt  // an integer from -2⁶³ to 2⁶³ - 1
	KindUint // an integer from 2⁶³ to 2⁶⁴ - 1
	KindFloat
	KindNumberText // a number that is kept as its text, since no other kind holds it
	KindText
	KindBytes
	KindDecimal
	KindDate
	KindTimeOfDay
	KindDateTime  // a date and time of a time zone that is not known
	KindTimestamp // a moment
	KindUUID
	KindObject
	KindArray
	KindReserved // of a later version of the format: it can be copied, and nothing else
)

var kindNames = [...]string{"missing", "null", "bool", "int", "uint", "float", "number text", "text", "bytes",
	"decimal", "date", "time of day", "date and time", "timestamp", "UUID", "object", "array", "reserved value"}

// String is the kind's name in small letters.
func (k Kind) String() string { return kindNames[min(k, KindReserved)] }

var kindOfTag = [tagUndefined]Kind{
	tagNothing: KindMissing, tagNull: KindNull, tagFalse: KindBool, tagTrue: KindBool, tagInt: KindInt,
	tagUint: KindUint, tagFloat: KindFloat, tagDecimal: KindDecimal, tagTimestamp: KindTimestamp, tagDate: KindDate,
	tagTime: KindTimeOfDay, tagDateTime: KindDateTime, tagText: KindText, tagBytes: KindBytes,
	tagNumberText: KindNumberText, tagUUID: KindUUID, tagLargeDecimal: KindDecimal, tagObject: KindObject,
	tagArray: KindArray,
}

// forms of values: where they are.
const (
	formScalar = iota // bits holds the cell, or at and bits a span
	formRecord        // at is the record, bits its first 8 bytes
	formMap           // at is the map
	formRow           // at and home are the table, row is the row, bits the shape and the count of columns
	formArray         // at is the header of the elements' column, bits the first one and how many
	formBroken        // at is the offset and row the kind of a fault
)

// Value is a value of a document. It is small, is passed by value, and refers to the document's bytes, of which it
// copies nothing. The zero Value is missing. So is what is asked of a missing value, and calls can be chained:
//
//	name, err := doc.Root().Get("users").At(0).Get("name").Text()
//
// A value that could not be read, in a document that is damaged, is passed on in the same way: it counts as missing,
// and Err and the typed methods say what is wrong.
//
// A value is good until its document is changed. Afterwards it may be another one, but reading it does no harm.
type Value struct {
	doc *Document
	place
	bits uint64
	what
}

// Structs of more than four fields are kept in memory by the compiler, so the fields are in groups.
type place struct{ at, home uint32 } // home: that of a node; of a row or an array in a list its table or list

type what struct {
	row  uint32 // of a row, or of an array in a list
	tag  uint8
	form uint8
}

const notInList = math.MaxUint32 // the row of an array that has a home

// Kind is what the value is.
func (v Value) Kind() Kind {
	if k := kindOfTag[min(v.tag, tagUndefined-1)]; k != 0 || v.tag == 0 {
		return k
	}
	return KindReserved
}

// Exists says whether there is a value. Null is one.
func (v Value) Exists() bool { return v.tag != tagNothing }

// IsNull says whether the value is null.
func (v Value) IsNull() bool { return v.tag == tagNull }

// Err is nil if there is a value. It is of kind ErrNotFound if there is none, of ErrBadPointer after a pointer that is
// none, and of another kind if the document is damaged there.
func (v Value) Err() error {
	switch {
	case v.form == formBroken:
		return fault{ErrorKind(v.row), v.at}.err()
	case v.tag == tagNothing:
		return errorf(ErrNotFound, "there is no such value")
	}
	return nil
}

// wrong is the error of a value that is not of the type that was asked for.
func (v Value) wrong(wanted string) error {
	if err := v.Err(); err != nil {
		return err
	}
	return errorf(ErrWrongType, "the value is of kind %v, and not %s", v.Kind(), wanted)
}

// Bool is the value of a boolean. The typed methods fail with ErrNotFound where there is no value, with ErrWrongType
// where it is of another type, and with the kind of damage where it could not be read.
func (v Value) Bool() (bool, error) {
	if v.tag != tagTrue && v.tag != tagFalse {
		return false, v.wrong("a bool")
	}
	return v.tag == tagTrue, nil
}

// Int64 is an integer. Floats are none, whole ones neither.
func (v Value) Int64() (int64, error) {
	if v.tag != tagInt {
		return 0, v.wrong("an integer that int64 holds")
	}
	return int64(v.bits), nil
}

// Uint64 is an integer that is not negative.
func (v Value) Uint64() (uint64, error) {
	if v.tag == tagInt && int64(v.bits) >= 0 || v.tag == tagUint {
		return v.bits, nil
	}
	return 0, v.wrong("an integer that uint64 holds")
}

// Float64 is a number: a float as it is, an integer or a number's text rounded to the nearest float64.
func (v Value) Float64() (float64, error) {
	switch v.tag {
	case tagFloat:
		return math.Float64frombits(v.bits), nil
	case tagInt:
		return float64(int64(v.bits)), nil
	case tagUint:
		return float64(v.bits), nil
	case tagNumberText:
		if f, err := strconv.ParseFloat(string(v.spanBytes()), 64); err == nil {
			return f, nil
		}
	}
	return 0, v.wrong("a number that float64 holds")
}

// Number is any number as its text in JSON, exactly.
func (v Value) Number() (json.Number, error) {
	switch v.tag {
	case tagInt, tagUint, tagFloat, tagNumberText, tagDecimal, tagLargeDecimal:
		text, err := AppendJSON(nil, v, JSONOptions{})
		return json.Number(text), err
	}
	return "", v.wrong("a number")
}

// Text is a copy of a text. TextBytes does not copy. If the document was not validated, it may be no UTF-8.
func (v Value) Text() (string, error) {
	if v.tag != tagText {
		return "", v.wrong("a text")
	}
	return string(v.spanBytes()), nil
}

// TextBytes is the UTF-8 of a text where it lies in the document. It must not be changed.
func (v Value) TextBytes() ([]byte, error) {
	if v.tag != tagText {
		return nil, v.wrong("a text")
	}
	return v.spanBytes(), nil
}

// Bytes is a byte string where it lies in the document. It must not be changed.
func (v Value) Bytes() ([]byte, error) {
	if v.tag != tagBytes {
		return nil, v.wrong("a byte string")
	}
	return v.spanBytes(), nil
}

// Time is a timestamp, in UTC.
func (v Value) Time() (time.Time, error) {
	if v.tag != tagTimestamp {
		return time.Time{}, v.wrong("a timestamp")
	}
	return time.UnixMicro(int64(v.bits)).UTC(), nil
}

// Date is a date.
func (v Value) Date() (Date, error) {
	if v.tag != tagDate {
		return 0, v.wrong("a date")
	}
	return Date(v.bits), nil
}

// TimeOfDay is a time of day.
func (v Value) TimeOfDay() (TimeOfDay, error) {
	if v.tag != tagTime {
		return 0, v.wrong("a time of day")
	}
	return TimeOfDay(v.bits), nil
}

// DateTime is a date and time of a time zone that is not known.
func (v Value) DateTime() (DateTime, error) {
	if v.tag != tagDateTime {
		return 0, v.wrong("a date and time")
	}
	return DateTime(v.bits), nil
}

// Decimal is a decimal.
func (v Value) Decimal() (Decimal, error) {
	if v.tag == tagDecimal {
		return Decimal{int64(v.bits) >> 63, uint64(int64(v.bits) >> 8), uint8(v.bits)}, nil
	}
	if v.tag == tagLargeDecimal {
		m := mem(v.spanBytes())
		return Decimal{int64(m.u64(8)), m.u64(0), m.u8(16)}, nil
	}
	return Decimal{}, v.wrong("a decimal")
}

// UUID is a UUID.
func (v Value) UUID() (UUID, error) {
	if v.tag != tagUUID {
		return UUID{}, v.wrong("a UUID")
	}
	return v.uuid(), nil
}

// Get is the member of an object that has a key. It is missing where there is none, or the value is no object.
func (v Value) Get(key string) Value {
	if v.form == formBroken {
		return v
	}
	k := shapeKey(key)
	return v.member(&k)
}

// GetKey is Get with a key that was prepared once.
func (v Value) GetKey(key *Key) Value {
	if key == nil {
		return v.nothing()
	}
	return v.member(key)
}

// At is element i of an array. It is missing where there is none, or the value is no array.
func (v Value) At(i int) Value {
	if v.form != formArray || i < 0 || uint64(i) >= v.count() {
		return v.nothing()
	}
	c, f := v.doc.data.column(uint64(v.at))
	if f.bad() {
		return v.doc.broken(f)
	}
	return v.doc.slot(&c, v.first()+uint64(i))
}

// Len is how many elements an array or members an object has. Of other values it is 0. It looks at all columns of an
// object that is the row of a table, and takes the same time for all others.
func (v Value) Len() int {
	switch v.form {
	case formArray:
		return int(v.count())
	case formRecord:
		return int(v.bits >> 24 & 0xff)
	case formMap:
		return int(v.doc.data.u32(uint64(v.at) + 4))
	case formRow:
		n := 0
		for it := v.members(); it.next(); n++ {
		}
		return n
	}
	return 0
}

// Pointer is the value at a JSON pointer (RFC 6901), such as "/users/0/name". "" is the value itself. It is missing
// where there is none; Err is of kind ErrBadPointer if the pointer is none.
func (v Value) Pointer(pointer string) Value {
	for pointer != "" && v.form != formBroken {
		if pointer[0] != '/' {
			return v.doc.broken(fault{kind: ErrBadPointer})
		}
		step := pointer[1:]
		if end := strings.IndexByte(step, '/'); end >= 0 {
			step = step[:end]
		}
		pointer = pointer[1+len(step):]
		step, ok := pointerKey(step)
		if !ok {
			return v.doc.broken(fault{kind: ErrBadPointer})
		}
		if v.form == formArray {
			v = v.At(pointerIndex(step))
		} else {
			v = v.Get(step)
		}
	}
	return v
}

// pointerKey is the key that a step of a pointer names, and whether the step is one: ~0 is ~, and ~1 is /.
func pointerKey(step string) (string, bool) {
	if strings.IndexByte(step, '~') < 0 {
		return step, true
	}
	ok := strings.Count(step, "~") == strings.Count(step, "~0")+strings.Count(step, "~1")
	return strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~"), ok
}

// pointerIndex is the index that a step of a pointer names, or -1.
func pointerIndex(step string) int {
	if step == "" || len(step) > 10 || step[0] == '0' && len(step) > 1 {
		return -1
	}
	i := uint64(0)
	for _, c := range []byte(step) {
		if c < '0' || c > '9' {
			return -1
		}
		i = 10*i + uint64(c-'0')
	}
	return int(min(i, maxElements))
}

// Members ranges over an object's members in their order. Nothing is there to range over in other values. Where the
// object is damaged, the last member is a value whose Err says so, and has an empty key.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for it := v.members(); it.next(); {
			if !yield(string(it.key), it.value) {
				return
			}
		}
	}
}

// MemberBytes is Members without copies of the keys: they lie in the document, and must not be changed.
func (v Value) MemberBytes() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		for it := v.members(); it.next(); {
			if !yield(it.key, it.value) {
				return
			}
		}
	}
}

// Keys ranges over the keys of an object, in the order of its members.
func (v Value) Keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		for it := v.members(); it.next() && it.value.form != formBroken; {
			if !yield(string(it.key)) {
				return
			}
		}
	}
}

// Elements ranges over the elements of an array and their indexes. Nothing is there to range over in other values.
// Where the array is damaged, the elements are values whose Err says so.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.form == formBroken {
			yield(0, v)
		}
		if v.form != formArray {
			return
		}
		c, f := v.doc.data.column(uint64(v.at))
		if f.bad() {
			yield(0, v.doc.broken(f))
			return
		}
		for i, first := uint64(0), v.first(); i < v.count(); i++ {
			if !yield(int(i), v.doc.slot(&c, first+i)) {
				return
			}
		}
	}
}

// Range ranges over the members whose keys are at least from and, unless to is empty, before to. They come in the order
// of their keys' bytes. A map that has an index for it (FORMAT 7.2) takes O(log n) to begin; of other objects all keys
// are looked at, and those in the range are sorted.
func (v Value) Range(from, to string) iter.Seq2[string, Value] {
	return v.ordered(from, func(key []byte) bool { return to == "" || string(key) < to })
}

// Prefix ranges over the members whose keys begin with a prefix, in the order of their keys' bytes, as Range does.
func (v Value) Prefix(prefix string) iter.Seq2[string, Value] {
	return v.ordered(prefix, func(key []byte) bool {
		return len(key) >= len(prefix) && string(key[:len(prefix)]) == prefix
	})
}

// String is the text of a text, the JSON of any other value, or a note in angle brackets where it has none. It is for
// people; AppendJSON is exact.
func (v Value) String() string {
	defer func() {
		if r := recover(); r != nil {
			v.doc.fault = r // package fmt does not hand it on
			panic(r)
		}
	}()
	if text, err := v.Text(); err == nil {
		return text
	}
	if !v.Exists() {
		return "<" + strings.TrimPrefix(v.Err().Error(), "livebuf: ") + ">"
	}
	text, err := AppendJSON(nil, v, JSONOptions{NonFiniteNull: true})
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return string(text)
}
