package livebuf

import (
	"strconv"
	"time"
)

// Item is a type that the values of a column can have.
type Item interface {
	number | bool | string | Date | TimeOfDay | DateTime | time.Time | Decimal | UUID
}

type integer interface {
	int8 | int16 | int32 | int64 | int | uint8 | uint16 | uint32 | uint64
}

type number interface {
	integer | float32 | float64
}

// Validity says which values of a column are there. Others are null or missing, and are the zero value in its slice.
type Validity struct {
	bits  []byte // nil where all are there
	first uint64
}

// All says whether all values are there because the column has no room for others.
func (v Validity) All() bool { return v.bits == nil }

// Valid says whether value i is there. It panics if the column has no value i and not all are there.
func (v Validity) Valid(i int) bool {
	at := v.first + uint64(i)
	return v.bits == nil || v.bits[at>>3]>>(at&7)&1 == 1
}

// Column is the value at a path of keys in each element of an array; without a path, the elements themselves.
//
// If the document stores them as a column of type T, the slice lies over the document's bytes. Then nothing is copied,
// and it must not be changed. Otherwise they are converted into a new slice, as the methods of Value do it: integers to
// wider ones and to floats, but a value that T does not hold is an error. It works for any array, also where the values
// are not stored as a column: then each element is looked up.
//
//	ages, valid, err := livebuf.Column[int32](doc.Root().Get("users"), "age")
func Column[T Item](array Value, path ...string) ([]T, Validity, error) {
	if array.form != formArray {
		return nil, Validity{}, array.wrong("an array")
	}
	c, stored, f := array.column(path)
	if f.bad() {
		return nil, Validity{}, f.err()
	}
	if stored {
		return items[T](array.doc, &c, array.first(), array.count())
	}
	keys := make([]*Key, len(path))
	for i, step := range path {
		keys[i] = NewKey(step)
	}
	all, valid, i, err := gather[T](array.doc, array.count(), nil, func(i uint64) Value {
		v := array.doc.slot(&c, array.first()+i)
		for _, key := range keys {
			v = v.GetKey(key)
		}
		return v
	})
	if err != nil {
		at := appendStep(nil, strconv.FormatUint(i, 10))
		for _, step := range path {
			at = appendStep(at, step)
		}
		err.(*Error).Path = string(at)
		return nil, Validity{}, err
	}
	return all, valid, nil
}

// Tensor is the numbers of a tensor, those of the last dimension next to each other, and its length in each dimension
// (FORMAT 6.6). The slice lies over the document's bytes, as that of Column does. Any other array is an error of kind
// ErrWrongType.
func Tensor[T Item](array Value) ([]T, []int, error) {
	if array.form != formArray {
		return nil, nil, array.wrong("a tensor")
	}
	m := array.doc.data
	c, f := m.column(uint64(array.at))
	if !f.bad() && !c.tensor {
		return nil, nil, array.wrong("a tensor: Column reads it")
	}
	first, count := array.first(), array.count()
	shape := []int{int(count)}
	for !f.bad() && c.code == codeFixedList {
		list := c.data
		if f = m.need(list, listOffsets); f.bad() {
			break
		}
		length := m.u32(list + 4)
		if c, f = m.column(list + listElements); f.bad() {
			break
		}
		first, count = first*length, count*length
		if shape = append(shape, int(length)); len(shape) > maxDimensions {
			f = fault{ErrNestingLimit, uint32(list)}
		} else if count > c.count || first > c.count-count {
			f = fault{ErrBadCount, uint32(list)}
		}
	}
	if f.bad() {
		return nil, nil, f.err()
	}
	all, _, err := items[T](array.doc, &c, first, count)
	return all, shape, err
}

// column is the column that stores the values at a path below an array's elements, or, if there is none, that of the
// elements.
func (v Value) column(path []string) (c column, stored bool, f fault) {
	m := v.doc.data
	elements, f := m.column(uint64(v.at))
	c = elements
	for _, step := range path {
		if f.bad() || c.code != codeStruct {
			return elements, false, f
		}
		table, f := m.table(c.data)
		if f.bad() {
			return c, false, f
		}
		key := shapeKey(step)
		i, f := m.findInShape(table>>32, table&0xffff, &key)
		if f.bad() || i < 0 {
			return elements, false, f // it may still be among the extras of a few rows
		}
		if c, f = m.column(c.data + tableSize + columnSize*uint64(i)); f.bad() {
			return c, false, f
		}
	}
	if v.first()+v.count() > c.count {
		f = fault{ErrBadCount, uint32(c.at)}
	}
	return c, !f.bad(), f
}

// items is some slots of a column as a slice.
func items[T Item](d *Document, c *column, first, count uint64) ([]T, Validity, error) {
	m := d.data
	var valid Validity
	if c.gaps != 0 {
		if !m.reaches(c.bitmaps, (first+count+7)>>3) {
			return nil, valid, fault{ErrOutOfBounds, uint32(c.at)}.err()
		}
		valid = Validity{m[c.bitmaps : c.bitmaps+(first+count+7)>>3], first}
	}
	width := uint64(columnTypes[c.code].width)
	if start := c.values + width*first; width > 0 && m.reaches(start, width*count) {
		b := m[start : start+width*count : start+width*count]
		if storedAs[c.code] == any(*new(T)) {
			if all, ok := native[T](b); ok {
				return all, valid, nil
			}
		}
		if tag := columnTypes[c.code].tag; tag >= tagInt && tag <= tagFloat {
			if all := make([]T, count); widen(any(all), c.code, b) {
				return all, valid, nil
			}
		}
	}
	var texts map[uint64]T // those of a dictionary, each made once
	if isDictionary(c.code) {
		texts = map[uint64]T{}
	}
	all, valid, i, err := gather(d, count, texts, func(i uint64) Value { return d.slot(c, first+i) })
	if err != nil {
		err.(*Error).Path = "/" + strconv.FormatUint(i, 10)
		return nil, valid, err
	}
	return all, valid, nil
}

// storedAs has the zero value of the type that the slots of a column are values of.
var storedAs = [codeCount]any{
	codeI8: int8(0), codeI16: int16(0), codeI32: int32(0), codeI64: int64(0),
	codeU8: uint8(0), codeU16: uint16(0), codeU32: uint32(0), codeU64: uint64(0),
	codeF32: float32(0), codeNumbersF32: float32(0), codeMarkedF32: float32(0),
	codeF64: float64(0), codeNumbersF64: float64(0), codeMarkedF64: float64(0),
	codeDate: Date(0), codeTime: TimeOfDay(0), codeDateTime: DateTime(0), codeUUID: UUID{},
}

// widen converts the slots of a column into a slice of numbers, if their type holds all that the column can have.
func widen(dst any, code uint8, b []byte) bool {
	switch dst := dst.(type) {
	case []int16:
		return widenTo(dst, code, b, 16)
	case []int32:
		return widenTo(dst, code, b, 32)
	case []int64:
		return widenTo(dst, code, b, 64)
	case []int:
		return widenTo(dst, code, b, strconv.IntSize)
	case []uint16:
		return widenTo(dst, code, b, 16)
	case []uint32:
		return widenTo(dst, code, b, 32)
	case []uint64:
		return widenTo(dst, code, b, 64)
	case []float32:
		return widenTo(dst, code, b, 25)
	case []float64:
		return widenTo(dst, code, b, 54)
	}
	return false
}

// widenTo is widen for a type that holds integers of so many bits, their sign included if it has one.
func widenTo[T number](dst []T, code uint8, b []byte, bits int) bool {
	width, signed, float := 8*int(columnTypes[code].width), T(0)-1 < 0, T(1)/2 != 0
	switch {
	case code >= codeI8 && code <= codeI64:
		if !signed || width > bits {
			return false
		}
	case code >= codeU8 && code <= codeU64:
		if width > bits || signed && width == bits {
			return false
		}
	case !float || width > 8*sizeOf[T]():
		return false
	}
	switch code {
	case codeI8:
		return convert[int8](dst, b)
	case codeI16:
		return convert[int16](dst, b)
	case codeI32:
		return convert[int32](dst, b)
	case codeI64:
		return convert[int64](dst, b)
	case codeU8:
		return convert[uint8](dst, b)
	case codeU16:
		return convert[uint16](dst, b)
	case codeU32:
		return convert[uint32](dst, b)
	case codeU64:
		return convert[uint64](dst, b)
	case codeF32, codeNumbersF32, codeMarkedF32:
		return convert[float32](dst, b)
	case codeF64, codeNumbersF64, codeMarkedF64:
		return convert[float64](dst, b)
	}
	return false
}

func convert[S, T number](dst []T, b []byte) bool {
	src, ok := native[S](b)
	for i, x := range src {
		dst[i] = T(x)
	}
	return ok
}

// gather makes a slice of values, one by one. Texts that were made before are in a map. The error is about value i.
func gather[T Item](d *Document, count uint64, made map[uint64]T, at func(i uint64) Value) (all []T, valid Validity,
	i uint64, err error) {
	all = make([]T, count)
	left := textPerByte * int64(len(d.data)) // bytes of texts that may be made (FORMAT 11)
	for i = range count {
		v := at(i)
		if v.form != formBroken && v.tag <= tagNull {
			if valid.bits == nil {
				valid.bits = make([]byte, (count+7)>>3)
				for j := range i {
					valid.bits[j>>3] |= 1 << (j & 7)
				}
			}
			continue
		}
		if valid.bits != nil {
			valid.bits[i>>3] |= 1 << (i & 7)
		}
		name := v.bits<<32 | uint64(v.at) // of a text that may be made
		if x, ok := made[name]; ok {
			all[i] = x
			continue
		}
		if v.tag == tagText {
			if left -= int64(v.bits); left < 0 {
				return nil, valid, i, fault{ErrBudgetExceeded, v.at}.err()
			}
		}
		if err = set(&all[i], v); err != nil {
			return nil, valid, i, err
		}
		if made != nil {
			made[name] = all[i]
		}
	}
	return all, valid, 0, nil
}

// set reads a value as one of Go, exactly.
func set[T Item](dst *T, v Value) (err error) {
	switch p := any(dst).(type) {
	case *bool:
		*p, err = v.Bool()
	case *string:
		*p, err = v.Text()
	case *int8:
		err = setInteger(p, v)
	case *int16:
		err = setInteger(p, v)
	case *int32:
		err = setInteger(p, v)
	case *int64:
		err = setInteger(p, v)
	case *int:
		err = setInteger(p, v)
	case *uint8:
		err = setInteger(p, v)
	case *uint16:
		err = setInteger(p, v)
	case *uint32:
		err = setInteger(p, v)
	case *uint64:
		err = setInteger(p, v)
	case *float32:
		var x float64
		if x, err = v.Float64(); err == nil && x == x && float64(float32(x)) != x {
			err = v.wrong("a number that float32 holds")
		}
		*p = float32(x)
	case *float64:
		*p, err = v.Float64()
	case *Date:
		*p, err = v.Date()
	case *TimeOfDay:
		*p, err = v.TimeOfDay()
	case *DateTime:
		*p, err = v.DateTime()
	case *time.Time:
		*p, err = v.Time()
	case *Decimal:
		*p, err = v.Decimal()
	case *UUID:
		*p, err = v.UUID()
	}
	return err
}

// setInteger reads an integer that T holds.
func setInteger[T integer](p *T, v Value) error {
	*p = T(v.bits)
	if v.tag == tagInt && int64(*p) == int64(v.bits) && (*p < 0) == (int64(v.bits) < 0) {
		return nil
	}
	if v.tag == tagUint && uint64(*p) == v.bits && *p > 0 {
		return nil
	}
	if v.tag != tagInt && v.tag != tagUint {
		return v.wrong("an integer")
	}
	return v.wrong("an integer that the wanted type holds")
}
